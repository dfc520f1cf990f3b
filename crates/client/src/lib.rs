//! Producer, consumer and admin for Kafka brokers.
