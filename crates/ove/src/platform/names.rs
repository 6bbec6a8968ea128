//! Names of enum variants.

/// Gives the variants of an enum their user-visible names: `ALL`, `name()`, `Display`, serde, and a `FromStr` whose
/// error lists the allowed names.
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
                $kind::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| {
                    let allowed = format!("be one of {}", [$($name),+].join(", "));
                    $crate::error::Error::setting($option, allowed, format!("`{name}`"))
                })
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use names;
