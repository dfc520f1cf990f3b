//! The attributes `#[wire(...)]` of messages and fields, parsed.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, LitInt, LitStr, Result, Type};

/// A range of versions: `"3"`, `"3-7"`, `"3+"`.
#[derive(Clone, Copy)]
pub(crate) struct Versions {
    pub(crate) min: i16,
    pub(crate) max: Option<i16>,
}

impl Versions {
    fn parse(text: &LitStr) -> Result<Versions> {
        let value = text.value();
        let wrong = || Error::new(text.span(), "expected versions such as \"3\", \"3-7\" or \"3+\"");
        let number = |digits: &str| digits.parse::<i16>().map_err(|_| wrong());
        if let Some(min) = value.strip_suffix('+') {
            return Ok(Versions {
                min: number(min)?,
                max: None,
            });
        }
        let (min, max) = value.split_once('-').unwrap_or((&value, &value));
        Ok(Versions {
            min: number(min)?,
            max: Some(number(max)?),
        })
    }

    /// A condition on the variable `form`.
    pub(crate) fn condition(self) -> TokenStream {
        let min = self.min;
        match self.max {
            Some(max) if max == min => quote!(form.version == #min),
            Some(max) if min == 0 => quote!(form.version <= #max),
            Some(max) => quote!((#min..=#max).contains(&form.version)),
            None => quote!(form.version >= #min),
        }
    }
}

/// What `#[wire(...)]` says about a message.
#[derive(Default)]
pub(crate) struct MessageAttributes {
    pub(crate) versions: Option<Versions>,
    pub(crate) flexible: Option<Versions>,
    pub(crate) api: Option<Ident>,
    pub(crate) key: Option<LitInt>,
}

impl MessageAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<MessageAttributes> {
        let mut parsed = MessageAttributes::default();
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("wire"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("versions") {
                    parsed.versions = Some(Versions::parse(&meta.value()?.parse()?)?);
                } else if meta.path.is_ident("flexible") {
                    parsed.flexible = Some(Versions::parse(&meta.value()?.parse()?)?);
                } else if meta.path.is_ident("api") {
                    parsed.api = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("key") {
                    parsed.key = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("expected versions, flexible, api or key"));
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }
}

/// A field and what `#[wire(...)]` says about it.
pub(crate) struct WireField {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) versions: Option<Versions>,
    pub(crate) nullable: Option<Versions>,
    pub(crate) tag: Option<u32>,
    default: Option<Expr>,
    pub(crate) int16_length: bool,
}

impl WireField {
    /// The fields of a struct, in order.
    pub(crate) fn all(input: &DeriveInput) -> Result<Vec<WireField>> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new(
                input.ident.span(),
                "only a struct has fields on the wire",
            ));
        };
        match &data.fields {
            Fields::Named(named) => named.named.iter().map(WireField::parse).collect(),
            Fields::Unit => Ok(Vec::new()),
            Fields::Unnamed(_) => Err(Error::new(input.ident.span(), "fields on the wire have names")),
        }
    }

    fn parse(field: &syn::Field) -> Result<WireField> {
        let Some(ident) = field.ident.clone() else {
            return Err(Error::new_spanned(field, "fields on the wire have names"));
        };
        let mut parsed = WireField {
            ident,
            ty: field.ty.clone(),
            versions: None,
            nullable: None,
            tag: None,
            default: None,
            int16_length: false,
        };
        for attribute in field
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("wire"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("versions") {
                    parsed.versions = Some(Versions::parse(&meta.value()?.parse()?)?);
                } else if meta.path.is_ident("nullable") {
                    parsed.nullable = Some(Versions::parse(&meta.value()?.parse()?)?);
                } else if meta.path.is_ident("tag") {
                    parsed.tag = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
                } else if meta.path.is_ident("default") {
                    parsed.default = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("int16_length") {
                    parsed.int16_length = true;
                } else {
                    return Err(meta.error("expected versions, nullable, tag, default or int16_length"));
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }

    /// The name on the wire: without the `r#` of a keyword.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// An expression for the default.
    pub(crate) fn default(&self) -> TokenStream {
        match &self.default {
            Some(expression) => quote!(#expression),
            None => quote!(::core::default::Default::default()),
        }
    }

    /// The condition that the version has this field; `None` where all have it.
    pub(crate) fn condition(&self) -> Option<TokenStream> {
        self.versions.map(Versions::condition)
    }
}
