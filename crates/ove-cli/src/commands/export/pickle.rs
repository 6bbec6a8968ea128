//! Writes Python's pickles: a program for a machine with a stack, which makes objects by calling functions.
//!
//! ```text
//! call(&global("numpy", "float32"), [&int(1)])  →  "numpy", "float32", STACK_GLOBAL, MARK, 1, TUPLE, REDUCE
//! ```
//!
//! Objects are made by the functions that a program in Python would call, so that the file does not depend on how a
//! version of a package keeps them inside. Unpickling runs what the file says, here nothing but these calls.

/// Part of a pickle that leaves one object on the stack.
pub type Object = Vec<u8>;

/// A whole pickle.
pub fn pickle(object: &Object) -> Vec<u8> {
    [&[0x80, 4][..], object, b"."].concat()
}

/// A string.
pub fn text(text: &str) -> Object {
    [&b"X"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

/// A whole number.
pub fn int(number: i64) -> Object {
    [&[0x8a, 8][..], &number.to_le_bytes()].concat()
}

/// True or False.
pub fn truth(value: bool) -> Object {
    vec![if value { 0x88 } else { 0x89 }]
}

/// None.
pub fn none() -> Object {
    b"N".to_vec()
}

/// Bytes.
pub fn bytes(bytes: &[u8]) -> Object {
    [&[0x8e][..], &(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

/// A tuple.
pub fn tuple<'a>(items: impl IntoIterator<Item = &'a Object>) -> Object {
    list_of(b"(", items, b"t")
}

/// A list.
pub fn list<'a>(items: impl IntoIterator<Item = &'a Object>) -> Object {
    list_of(b"](", items, b"e")
}

fn list_of<'a>(start: &[u8], items: impl IntoIterator<Item = &'a Object>, end: &[u8]) -> Object {
    let mut all = start.to_vec();
    items.into_iter().for_each(|item| all.extend_from_slice(item));
    all.extend_from_slice(end);
    all
}

/// A dictionary.
pub fn dict<'a>(items: impl IntoIterator<Item = (&'a str, Object)>) -> Object {
    let mut all = b"}(".to_vec();
    for (key, value) in items {
        all.extend(text(key));
        all.extend(value);
    }
    all.push(b'u');
    all
}

/// A class or function of a module.
pub fn global(module: &str, name: &str) -> Object {
    [text(module), text(name), vec![0x93]].concat()
}

/// The result of a function.
pub fn call<'a>(function: &Object, arguments: impl IntoIterator<Item = &'a Object>) -> Object {
    [function.clone(), tuple(arguments), b"R".to_vec()].concat()
}

/// Calls a function with named arguments, by way of `functools.partial`.
pub fn call_named<'a>(function: &Object, arguments: impl IntoIterator<Item = (&'a str, Object)>) -> Object {
    let partial = call(&global("functools", "partial"), [function]);
    let state = tuple([function, &tuple([]), &dict(arguments), &none()]);
    call(&[partial, state, b"b".to_vec()].concat(), [])
}

/// An object with attributes: `setattr` is called for each. Their values are without attributes of their own.
pub fn with_attributes<'a>(object: &Object, attributes: impl IntoIterator<Item = (&'a str, Object)>) -> Object {
    // The object stays on the stack, and has the number 0 in the memo.
    let mut all = [object.clone(), b"q\0".to_vec()].concat();
    for (name, value) in attributes {
        all.extend(call(&global("builtins", "setattr"), [&b"h\0".to_vec(), &text(name), &value]));
        all.push(b'0');
    }
    all
}
