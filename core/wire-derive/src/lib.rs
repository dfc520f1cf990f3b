//! The derive macro that turns a plain struct into a Kafka message.
