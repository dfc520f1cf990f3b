//! Apache Kafka's schema as data: generated values of every message, and an encoder of their own for them.
//!
//! This encoder knows `schema.txt` only, so that it shares no mistake with the derive macro.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::catalogue::{hex, unhex};

/// A range of versions.
#[derive(Clone, Copy, Debug)]
struct Versions {
    min: i16,
    max: i16,
}

impl Versions {
    fn parse(text: &str) -> Versions {
        let number = |digits: &str| digits.parse().expect("a version");
        if let Some(min) = text.strip_suffix('+') {
            return Versions {
                min: number(min),
                max: i16::MAX,
            };
        }
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        Versions {
            min: number(min),
            max: number(max),
        }
    }

    fn has(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }
}

/// A message of the schema.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) versions: (i16, i16),
    pub(crate) flexible_from: Option<i16>,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    kind: String,
    is_array: bool,
    versions: Versions,
    tag: Option<u32>,
    nullable: Option<Versions>,
    default: Option<String>,
    has_int16_length: bool,
    fields: Vec<Field>,
}

/// What decides how a field is written.
#[derive(Clone, Copy)]
struct Form {
    version: i16,
    is_flexible: bool,
}

/// Every message of the file.
pub(crate) fn schemas() -> Vec<Schema> {
    let mut schemas: Vec<Schema> = Vec::new();
    for line in include_str!("../vectors/schema.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let depth = (line.len() - line.trim_start().len()) / 2;
        if depth == 0 {
            schemas.push(message(line));
            continue;
        }
        let mut fields = &mut schemas.last_mut().expect("a message above its fields").fields;
        for _ in 1..depth {
            fields = &mut fields.last_mut().expect("a field above its fields").fields;
        }
        fields.push(field(line));
    }
    schemas
}

fn message(line: &str) -> Schema {
    let (name, rest) = line.split_once(' ').expect("a name and more");
    let attributes: BTreeMap<&str, &str> = rest.split(' ').filter_map(|word| word.split_once('=')).collect();
    let (min, max) = attributes["versions"].split_once('-').expect("two versions");
    Schema {
        name: name.to_owned(),
        versions: (min.parse().expect("a version"), max.parse().expect("a version")),
        flexible_from: attributes["flexible"]
            .strip_suffix('+')
            .map(|from| from.parse().expect("a version")),
        fields: Vec::new(),
    }
}

fn field(line: &str) -> Field {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, kind, versions, rest @ ..] = words.as_slice() else {
        panic!("a field has a name, a type and versions: {line}");
    };
    let attributes: BTreeMap<&str, &str> = rest.iter().filter_map(|word| word.split_once('=')).collect();
    Field {
        name: (*name).to_owned(),
        kind: kind.trim_start_matches("[]").to_owned(),
        is_array: kind.starts_with("[]"),
        versions: Versions::parse(versions),
        tag: attributes.get("tag").map(|tag| tag.parse().expect("a tag")),
        nullable: attributes
            .get("nullable")
            .map(|versions| Versions::parse(versions)),
        default: attributes.get("default").map(|&default| default.to_owned()),
        has_int16_length: attributes.contains_key("length"),
        fields: Vec::new(),
    }
}

impl Schema {
    fn form(&self, version: i16) -> Form {
        Form {
            version,
            is_flexible: self.flexible_from.is_some_and(|from| version >= from),
        }
    }

    /// Values of a version, with what is special about each type among them.
    pub(crate) fn values(&self, version: i16) -> BoxedStrategy<Json> {
        structs(&self.fields, version)
    }

    /// The bytes of a value.
    pub(crate) fn encode(&self, value: &Json, version: i16) -> Vec<u8> {
        let mut out = Vec::new();
        put_struct(&mut out, &self.fields, value, self.form(version));
        out
    }
}

fn structs(fields: &[Field], version: i16) -> BoxedStrategy<Json> {
    let fields: Vec<&Field> = fields
        .iter()
        .filter(|field| field.versions.has(version))
        .collect();
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let values: Vec<BoxedStrategy<Json>> = fields.iter().map(|field| field.values(version)).collect();
    let object = move |values: Vec<Json>| Json::Object(names.iter().cloned().zip(values).collect());
    values.prop_map(object).boxed()
}

impl Field {
    fn values(&self, version: i16) -> BoxedStrategy<Json> {
        let mut values = if self.kind == "struct" {
            structs(&self.fields, version)
        } else {
            scalars(&self.kind)
        };
        if self.is_array {
            values = prop::collection::vec(values, 0..3).prop_map(Json::Array).boxed();
        }
        let default = self.default(version);
        let is_nullable = self.nullable.is_some_and(|versions| versions.has(version));
        match (self.tag, is_nullable) {
            (None, false) => values,
            (None, true) => prop_oneof![4 => values, 1 => Just(Json::Null)].boxed(),
            (Some(_), false) => prop_oneof![2 => values, 1 => Just(default)].boxed(),
            (Some(_), true) => prop_oneof![4 => values, 1 => Just(Json::Null), 2 => Just(default)].boxed(),
        }
    }

    fn default(&self, version: i16) -> Json {
        match (self.default.as_deref(), self.kind.as_str()) {
            (Some("null"), _) => Json::Null,
            _ if self.is_array => json!([]),
            (Some(text), _) => serde_json::from_str(text).expect("a number or a boolean"),
            (None, "struct") => {
                let fields = self.fields.iter().filter(|field| field.versions.has(version));
                Json::Object(
                    fields
                        .map(|field| (field.name.clone(), field.default(version)))
                        .collect(),
                )
            }
            (None, "string" | "bytes" | "records") => json!(""),
            (None, "uuid") => json!("0".repeat(32)),
            (None, "boolean") => json!(false),
            (None, "float64") => json!(0.0),
            (None, _) => json!(0),
        }
    }
}

fn scalars(kind: &str) -> BoxedStrategy<Json> {
    let numbers = |min: i64, max: i64| {
        let number =
            prop_oneof![2 => min..=max, 1 => Just(min), 1 => Just(max), 1 => Just(0), 1 => Just(1.max(min))];
        number.prop_map(|number| json!(number)).boxed()
    };
    match kind {
        "boolean" => any::<bool>().prop_map(Json::Bool).boxed(),
        "int8" => numbers(i8::MIN.into(), i8::MAX.into()),
        "int16" => numbers(i16::MIN.into(), i16::MAX.into()),
        "int32" => numbers(i32::MIN.into(), i32::MAX.into()),
        "int64" => numbers(i64::MIN, i64::MAX),
        "uint16" => numbers(0, u16::MAX.into()),
        "uint32" => numbers(0, u32::MAX.into()),
        "float64" => prop::num::f64::NORMAL.prop_map(|number| json!(number)).boxed(),
        "uuid" => any::<[u8; 16]>().prop_map(|bytes| json!(hex(&bytes))).boxed(),
        "string" => prop_oneof![8 => "[a-z\u{e4}\u{4e16}.-]{0,9}", 1 => "x{126,129}", 1 => "y{600}"]
            .prop_map(Json::String)
            .boxed(),
        "bytes" | "records" => {
            let small = prop::collection::vec(any::<u8>(), 0..40);
            let large = any::<u8>().prop_map(|byte| vec![byte; 700]);
            prop_oneof![8 => small, 1 => large]
                .prop_map(|bytes| json!(hex(&bytes)))
                .boxed()
        }
        other => panic!("type {other}"),
    }
}

fn put_struct(out: &mut Vec<u8>, fields: &[Field], value: &Json, form: Form) {
    let members = value.as_object().expect("a struct");
    let (tagged, plain): (Vec<&Field>, Vec<&Field>) = fields
        .iter()
        .filter(|field| field.versions.has(form.version))
        .partition(|field| field.tag.is_some());
    for field in plain {
        put_field(out, field, &members[&field.name], form);
    }
    if form.is_flexible {
        put_tagged(out, tagged, members, form);
    }
}

fn put_tagged(out: &mut Vec<u8>, tagged: Vec<&Field>, members: &Map<String, Json>, form: Form) {
    let mut sections = BTreeMap::new();
    for field in tagged {
        let value = &members[&field.name];
        if *value != field.default(form.version) {
            let mut section = Vec::new();
            put_field(&mut section, field, value, form);
            sections.insert(field.tag, section);
        }
    }
    put_varint(out, sections.len());
    for (tag, section) in sections {
        put_varint(out, tag.expect("a tagged field") as usize);
        put_varint(out, section.len());
        out.extend(section);
    }
}

fn put_field(out: &mut Vec<u8>, field: &Field, value: &Json, form: Form) {
    if field.is_array {
        let elements = value.as_array();
        put_length(out, elements.map(Vec::len), form, 4);
        for element in elements.into_iter().flatten() {
            put_element(out, field, element, form);
        }
    } else if field.kind == "struct" && field.nullable.is_some_and(|versions| versions.has(form.version)) {
        let null = if field.tag.is_some() { 0 } else { 0xff };
        out.push(if value.is_null() { null } else { 1 });
        if !value.is_null() {
            put_struct(out, &field.fields, value, form);
        }
    } else {
        put_element(out, field, value, form);
    }
}

fn put_element(out: &mut Vec<u8>, field: &Field, value: &Json, form: Form) {
    let number = || value.as_i64().expect("an integer").to_be_bytes();
    match field.kind.as_str() {
        "struct" => put_struct(out, &field.fields, value, form),
        "boolean" => out.push(u8::from(value.as_bool().expect("a boolean"))),
        "int8" => out.extend(&number()[7..]),
        "int16" | "uint16" => out.extend(&number()[6..]),
        "int32" | "uint32" => out.extend(&number()[4..]),
        "int64" => out.extend(number()),
        "float64" => out.extend(value.as_f64().expect("a number").to_be_bytes()),
        "uuid" => out.extend(unhex(value.as_str().expect("an id"))),
        "string" => {
            let is_flexible = form.is_flexible && !field.has_int16_length;
            put_length(out, value.as_str().map(str::len), Form { is_flexible, ..form }, 2);
            out.extend(value.as_str().unwrap_or_default().bytes());
        }
        "bytes" | "records" => {
            let bytes = value.as_str().map(unhex);
            put_length(out, bytes.as_ref().map(Vec::len), form, 4);
            out.extend(bytes.unwrap_or_default());
        }
        other => panic!("type {other}"),
    }
}

fn put_length(out: &mut Vec<u8>, length: Option<usize>, form: Form, width: usize) {
    if form.is_flexible {
        put_varint(out, length.map_or(0, |length| length + 1));
    } else {
        let length = length.map_or(-1, |length| length as i64);
        out.extend(&length.to_be_bytes()[8 - width..]);
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
