//! Names for closed sets.

/// Gives an enum the names that users write: `ALL`, `name()`, `Display`, and a `FromStr` whose error lists what is allowed.
macro_rules! names {
    ($kind:ident, $option:literal, { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $kind {
            /// Every value.
            pub const ALL: &[$kind] = &[$($kind::$variant),+];

            /// The name on the command line, in Python and in JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $kind {
            type Err = $crate::error::Error;

            fn from_str(name: &str) -> $crate::error::Result<Self> {
                $kind::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| $crate::error::Error::Option {
                    name: $option,
                    found: format!("`{name}`"),
                    allowed: format!("it is one of {}", [$($name),+].join(", ")),
                })
            }
        }
    };
}

pub(crate) use names;
