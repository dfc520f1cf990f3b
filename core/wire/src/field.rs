//! How each type of field stands on the wire: integers, strings, bytes, records, arrays, nested structs, null.
//!
//! The derive macros write the implementations for structs; everything else is here.

use bytes::Bytes;
use bytestring::ByteString;
use model::Uuid;

use crate::error::{DecodeError, DecodeReason, EncodeError};
use crate::reader::Reader;
use crate::segment::Records;
use crate::value::Value;
use crate::writer::Writer;

/// The memory an array takes before its first element is read, in bytes: more comes as elements do.
const FIRST_ALLOCATION: usize = 64 << 10;

/// What decides the form of a field: the version, and whether lengths are compact and structs end with tagged fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The version of the message.
    pub version: i16,
    /// Whether this version is a flexible one (KIP-482).
    pub flexible: bool,
}

/// A type that a field of a message can have.
pub trait Field: Sized {
    /// The fewest bytes a value takes on the wire.
    fn min_size(form: Form) -> usize;

    /// Reads a value.
    fn read(reader: &mut Reader, form: Form) -> Result<Self, DecodeError>;

    /// Writes this value.
    fn write(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError>;

    /// This value as data that describes itself.
    fn value(&self, form: Form) -> Value;

    /// Reads a value inside a tagged field.
    fn read_tagged(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        Self::read(reader, form)
    }

    /// Writes this value inside a tagged field.
    fn write_tagged(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        self.write(writer, form)
    }
}

/// A type with a null on the wire; `Option` of it is a [`Field`] too.
pub trait Nullable: Field {
    /// The fewest bytes a value, or null, takes on the wire.
    fn min_size_or_null(form: Form) -> usize {
        Self::min_size(form)
    }

    /// Reads a value or null.
    fn read_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError>;

    /// Writes a value or null.
    fn write_or_null(value: Option<&Self>, writer: &mut Writer, form: Form) -> Result<(), EncodeError>;

    /// Reads a value or null inside a tagged field.
    fn read_tagged_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        Self::read_or_null(reader, form)
    }

    /// Writes a value or null inside a tagged field.
    fn write_tagged_or_null(
        value: Option<&Self>,
        writer: &mut Writer,
        form: Form,
    ) -> Result<(), EncodeError> {
        Self::write_or_null(value, writer, form)
    }
}

impl<T: Nullable> Field for Option<T> {
    fn min_size(form: Form) -> usize {
        T::min_size_or_null(form)
    }

    fn read(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        T::read_or_null(reader, form)
    }

    fn write(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        T::write_or_null(self.as_ref(), writer, form)
    }

    fn value(&self, form: Form) -> Value {
        self.as_ref().map_or(Value::Null, |value| value.value(form))
    }

    fn read_tagged(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        T::read_tagged_or_null(reader, form)
    }

    fn write_tagged(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        T::write_tagged_or_null(self.as_ref(), writer, form)
    }
}

/// Reads a value where null is no value.
fn read_present<T: Nullable>(reader: &mut Reader, form: Form) -> Result<T, DecodeError> {
    T::read_or_null(reader, form)?.ok_or_else(|| reader.error(DecodeReason::Null))
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Field for $type {
            fn min_size(_: Form) -> usize {
                size_of::<$type>()
            }

            fn read(reader: &mut Reader, _: Form) -> Result<Self, DecodeError> {
                Ok(<$type>::from_be_bytes(reader.array()?))
            }

            fn write(&self, writer: &mut Writer, _: Form) -> Result<(), EncodeError> {
                writer.put(&self.to_be_bytes());
                Ok(())
            }

            fn value(&self, _: Form) -> Value {
                Value::Int(i64::from(*self))
            }
        })*
    };
}

integers!(i8, i16, i32, i64, u16, u32);

impl Field for f64 {
    fn min_size(_: Form) -> usize {
        size_of::<f64>()
    }

    fn read(reader: &mut Reader, _: Form) -> Result<Self, DecodeError> {
        Ok(f64::from_be_bytes(reader.array()?))
    }

    fn write(&self, writer: &mut Writer, _: Form) -> Result<(), EncodeError> {
        writer.put(&self.to_be_bytes());
        Ok(())
    }

    fn value(&self, _: Form) -> Value {
        Value::Float(*self)
    }
}

impl Field for bool {
    fn min_size(_: Form) -> usize {
        1
    }

    /// Any byte but 0 is true, as in Kafka.
    fn read(reader: &mut Reader, _: Form) -> Result<Self, DecodeError> {
        Ok(reader.read_i8()? != 0)
    }

    fn write(&self, writer: &mut Writer, _: Form) -> Result<(), EncodeError> {
        writer.put(&[u8::from(*self)]);
        Ok(())
    }

    fn value(&self, _: Form) -> Value {
        Value::Bool(*self)
    }
}

impl Field for Uuid {
    fn min_size(_: Form) -> usize {
        16
    }

    fn read(reader: &mut Reader, _: Form) -> Result<Self, DecodeError> {
        reader.array().map(Uuid)
    }

    fn write(&self, writer: &mut Writer, _: Form) -> Result<(), EncodeError> {
        writer.put(&self.0);
        Ok(())
    }

    fn value(&self, _: Form) -> Value {
        Value::Uuid(*self)
    }
}

impl Field for ByteString {
    fn min_size(form: Form) -> usize {
        if form.flexible { 1 } else { 2 }
    }

    fn read(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        read_present(reader, form)
    }

    fn write(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        Self::write_or_null(Some(self), writer, form)
    }

    fn value(&self, _: Form) -> Value {
        Value::String(self.clone())
    }
}

impl Nullable for ByteString {
    fn read_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        match reader.string_length(form)? {
            Some(length) => reader.string(length).map(Some),
            None => Ok(None),
        }
    }

    fn write_or_null(value: Option<&Self>, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        writer.put_string_length(value.map(|text| text.len()), form)?;
        if let Some(text) = value {
            writer.put_payload(text.as_bytes());
        }
        Ok(())
    }
}

impl Field for Bytes {
    fn min_size(form: Form) -> usize {
        if form.flexible { 1 } else { 4 }
    }

    fn read(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        read_present(reader, form)
    }

    fn write(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        Self::write_or_null(Some(self), writer, form)
    }

    fn value(&self, _: Form) -> Value {
        Value::Bytes(self.clone())
    }
}

impl Nullable for Bytes {
    fn read_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        match reader.length(form)? {
            Some(length) => reader.slice(length).map(Some),
            None => Ok(None),
        }
    }

    fn write_or_null(value: Option<&Self>, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        writer.put_length(value.map(Bytes::len), form)?;
        if let Some(bytes) = value {
            writer.put_payload(bytes);
        }
        Ok(())
    }
}

impl Field for Records {
    fn min_size(form: Form) -> usize {
        Bytes::min_size(form)
    }

    fn read(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        read_present(reader, form)
    }

    fn write(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        Self::write_or_null(Some(self), writer, form)
    }

    /// What cannot be read from a file shows as no bytes.
    fn value(&self, _: Form) -> Value {
        Value::Bytes(self.to_bytes().unwrap_or_default())
    }
}

impl Nullable for Records {
    fn read_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        Ok(Bytes::read_or_null(reader, form)?.map(Records::from))
    }

    fn write_or_null(value: Option<&Self>, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        writer.put_length(value.map(Records::len), form)?;
        if let Some(records) = value {
            writer.put_records(records);
        }
        Ok(())
    }
}

impl<T: Field> Field for Vec<T> {
    fn min_size(form: Form) -> usize {
        if form.flexible { 1 } else { 4 }
    }

    fn read(reader: &mut Reader, form: Form) -> Result<Self, DecodeError> {
        read_present(reader, form)
    }

    fn write(&self, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        Self::write_or_null(Some(self), writer, form)
    }

    fn value(&self, form: Form) -> Value {
        Value::Array(self.iter().map(|element| element.value(form)).collect())
    }
}

impl<T: Field> Nullable for Vec<T> {
    fn read_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        let Some(count) = reader.length(form)? else {
            return Ok(None);
        };
        let size = size_of::<T>().max(1);
        reader.claim(count, T::min_size(form), size)?;
        let mut elements = Vec::with_capacity(count.min(FIRST_ALLOCATION / size));
        for _ in 0..count {
            elements.push(T::read(reader, form)?);
        }
        Ok(Some(elements))
    }

    fn write_or_null(value: Option<&Self>, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        writer.put_length(value.map(Vec::len), form)?;
        for element in value.into_iter().flatten() {
            element.write(writer, form)?;
        }
        Ok(())
    }
}

/// A struct with named fields. Where it can be null, a mark before it says whether it is there: a byte, 1 or, for null,
/// -1; inside a tagged field a varint, 1 or, for null, 0.
pub trait Struct: Field {}

impl<T: Struct> Nullable for T {
    fn min_size_or_null(_: Form) -> usize {
        1
    }

    fn read_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        let is_null = reader.read_i8()? < 0;
        if is_null {
            Ok(None)
        } else {
            T::read(reader, form).map(Some)
        }
    }

    fn write_or_null(value: Option<&Self>, writer: &mut Writer, form: Form) -> Result<(), EncodeError> {
        writer.put(&[if value.is_some() { 1 } else { 0xff }]);
        value.map_or(Ok(()), |value| value.write(writer, form))
    }

    fn read_tagged_or_null(reader: &mut Reader, form: Form) -> Result<Option<Self>, DecodeError> {
        let is_null = reader.read_unsigned_varint()? == 0;
        if is_null {
            Ok(None)
        } else {
            T::read(reader, form).map(Some)
        }
    }

    fn write_tagged_or_null(
        value: Option<&Self>,
        writer: &mut Writer,
        form: Form,
    ) -> Result<(), EncodeError> {
        writer.put_unsigned_varint(u32::from(value.is_some()));
        value.map_or(Ok(()), |value| value.write(writer, form))
    }
}
