//! The code the macros write.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Result};

use crate::attributes::{MessageAttributes, Versions, WireField};

/// All implementations of a message.
pub(crate) fn message(input: &DeriveInput) -> Result<TokenStream> {
    let attributes = MessageAttributes::parse(&input.attrs)?;
    let ident = &input.ident;
    let name = ident.to_string();
    let Some(Versions { min, max: Some(max) }) = attributes.versions else {
        return Err(Error::new(
            ident.span(),
            "a message says its versions: #[wire(versions = \"0-3\")]",
        ));
    };
    let flexible_from = match attributes.flexible {
        Some(versions) => {
            let from = versions.min;
            quote!(::core::option::Option::Some(#from))
        }
        None => quote!(::core::option::Option::None),
    };
    let fields = fields(input)?;
    let kind = match (&attributes.api, &attributes.key) {
        (Some(api), _) => {
            let Some(stem) = name.strip_suffix("Request") else {
                return Err(Error::new(
                    ident.span(),
                    "`api` belongs to a struct named ...Request",
                ));
            };
            let response = format_ident!("{stem}Response");
            quote! {
                impl crate::message::Request for #ident {
                    const API_KEY: crate::api::ApiKey = crate::api::ApiKey::#api;
                    type Response = #response;
                }
            }
        }
        (None, Some(key)) => quote! {
            impl crate::message::Keyed for #ident {
                const KEY: i16 = #key;
            }
        },
        (None, None) => TokenStream::new(),
    };
    Ok(quote! {
        #fields

        impl crate::message::Message for #ident {
            const NAME: &'static str = #name;
            const MIN_VERSION: i16 = #min;
            const MAX_VERSION: i16 = #max;
            const FLEXIBLE_FROM: ::core::option::Option<i16> = #flexible_from;
        }

        #kind
    })
}

/// `Default`, `Field` and `Struct` of a struct.
pub(crate) fn fields(input: &DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    let fields = WireField::all(input)?;
    let plain: Vec<&WireField> = fields.iter().filter(|field| field.tag.is_none()).collect();
    let mut tagged: Vec<&WireField> = fields.iter().filter(|field| field.tag.is_some()).collect();
    tagged.sort_by_key(|field| field.tag);

    let defaults = fields.iter().map(|field| {
        let (name, default) = (&field.ident, field.default());
        quote!(#name: #default)
    });
    let min_sizes = plain.iter().map(|field| min_size(field));
    let read = read(&plain, &tagged);
    let writes = plain.iter().map(|field| write(field));
    let write_tags = write_tags(&tagged);
    let values = fields.iter().map(value);
    Ok(quote! {
        impl ::core::default::Default for #ident {
            fn default() -> Self {
                Self { #(#defaults,)* }
            }
        }

        impl crate::field::Field for #ident {
            fn min_size(form: crate::field::Form) -> usize {
                0 #(+ #min_sizes)* + usize::from(form.flexible)
            }

            fn read(
                reader: &mut crate::reader::Reader,
                form: crate::field::Form,
            ) -> ::core::result::Result<Self, crate::error::DecodeError> {
                #read
            }

            fn write(
                &self,
                writer: &mut crate::writer::Writer,
                form: crate::field::Form,
            ) -> ::core::result::Result<(), crate::error::EncodeError> {
                #(#writes)*
                #write_tags
                ::core::result::Result::Ok(())
            }

            fn value(&self, form: crate::field::Form) -> crate::value::Value {
                let mut members = ::std::vec::Vec::new();
                #(#values)*
                crate::value::Value::Struct(members)
            }
        }

        impl crate::field::Struct for #ident {}
    })
}

/// The form a field is read and written in.
fn form(field: &WireField) -> TokenStream {
    if field.int16_length {
        quote!(crate::field::Form {
            flexible: false,
            ..form
        })
    } else {
        quote!(form)
    }
}

fn min_size(field: &WireField) -> TokenStream {
    let (ty, form) = (&field.ty, form(field));
    // A field that is null in some versions only has, as `Option`, the smallest size in all of them.
    let size = quote!(<#ty as crate::field::Field>::min_size(#form));
    match field.condition() {
        Some(condition) => quote!(if #condition { #size } else { 0 }),
        None => size,
    }
}

/// Fields are read into variables of their own, so that nothing is built twice.
fn read(plain: &[&WireField], tagged: &[&WireField]) -> TokenStream {
    let variable = |field: &WireField| format_ident!("field_{}", field.name());
    let reads = plain.iter().map(|field| {
        let (variable, ty, value, default) = (variable(field), &field.ty, read_value(field), field.default());
        let value = match field.condition() {
            Some(condition) => quote!(if #condition { (#value)? } else { #default }),
            None => quote!((#value)?),
        };
        quote!(let #variable: #ty = #value;)
    });
    let defaults = tagged.iter().map(|field| {
        let (variable, ty, default) = (variable(field), &field.ty, field.default());
        quote!(let mut #variable: #ty = #default;)
    });
    let arms = tagged.iter().map(|field| {
        let (variable, tag, value) = (variable(field), field.tag, read_value(field));
        let guard = field.condition().map(|condition| quote!(if #condition));
        quote! {
            #tag #guard => {
                #variable = reader.tagged(size, |reader| #value)?;
            }
        }
    });
    let members = plain.iter().chain(tagged).map(|field| {
        let (ident, variable) = (&field.ident, variable(field));
        quote!(#ident: #variable)
    });
    quote! {
        #(#reads)*
        #(#defaults)*
        if form.flexible {
            let mut tags = reader.tags()?;
            while let ::core::option::Option::Some((tag, size)) = reader.next_tag(&mut tags)? {
                match tag {
                    #(#arms)*
                    _ => reader.skip(size)?,
                }
            }
        }
        ::core::result::Result::Ok(Self { #(#members,)* })
    }
}

/// An expression for the result of reading a field.
fn read_value(field: &WireField) -> TokenStream {
    let form = form(field);
    let read = if field.tag.is_some() {
        quote!(read_tagged)
    } else {
        quote!(read)
    };
    let value = quote!(crate::field::Field::#read(reader, #form));
    match field.nullable {
        Some(nullable) => {
            let condition = nullable.condition();
            quote!(if #condition { #value } else { #value.map(::core::option::Option::Some) })
        }
        None => value,
    }
}

fn write(field: &WireField) -> TokenStream {
    let (ident, name, form) = (&field.ident, field.name(), form(field));
    let any = quote!(crate::field::Field::write(&self.#ident, writer, #form)?);
    let checked = match field.nullable {
        Some(nullable) => {
            let condition = nullable.condition();
            quote! {
                match &self.#ident {
                    ::core::option::Option::Some(value) if !(#condition) => {
                        crate::field::Field::write(value, writer, #form)?;
                    }
                    ::core::option::Option::None if !(#condition) => {
                        return ::core::result::Result::Err(crate::error::EncodeError::Null {
                            field: #name,
                            version: form.version,
                        });
                    }
                    _ => #any,
                }
            }
        }
        None => quote!(#any;),
    };
    match field.condition() {
        Some(condition) => quote!(if #condition { #checked }),
        None => checked,
    }
}

/// The condition that a tagged field stands on the wire.
fn is_written(field: &WireField) -> TokenStream {
    let (ident, ty, default) = (&field.ident, &field.ty, field.default());
    let differs = quote!({
        let default: #ty = #default;
        self.#ident != default
    });
    match field.condition() {
        Some(condition) => quote!(#condition && #differs),
        None => differs,
    }
}

fn write_tags(tagged: &[&WireField]) -> TokenStream {
    let flags: Vec<_> = tagged
        .iter()
        .map(|field| format_ident!("has_tag_{}", field.tag.unwrap_or_default()))
        .collect();
    let conditions = tagged.iter().map(|field| is_written(field));
    let writes = tagged.iter().map(|field| {
        let (ident, tag, form) = (&field.ident, field.tag, form(field));
        let flag = format_ident!("has_tag_{}", field.tag.unwrap_or_default());
        quote! {
            if #flag {
                writer.put_tagged(#tag, |writer| crate::field::Field::write_tagged(&self.#ident, writer, #form))?;
            }
        }
    });
    quote! {
        if form.flexible {
            #(let #flags = #conditions;)*
            writer.put_unsigned_varint(0 #(+ u32::from(#flags))*);
            #(#writes)*
        }
    }
}

fn value(field: &WireField) -> TokenStream {
    let (ident, name) = (&field.ident, field.name());
    let is_omitted = match field.tag {
        Some(_) => {
            let written = is_written(field);
            quote!(!(#written))
        }
        None => quote!(false),
    };
    let push = quote! {
        members.push(crate::value::Member {
            name: #name,
            value: crate::field::Field::value(&self.#ident, form),
            is_omitted: #is_omitted,
        });
    };
    match field.condition() {
        Some(condition) => quote!(if #condition { #push }),
        None => push,
    }
}
