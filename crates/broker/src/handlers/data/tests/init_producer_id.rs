//! InitProducerId.

use model::ErrorCode;
use wire::messages::init_producer_id::InitProducerIdRequest;

use crate::handlers::data::init_producer_id::refused;

#[test]
fn an_idempotent_producer_gets_an_id_and_a_transactional_one_a_clear_refusal() {
    let request = |transactional_id: Option<&str>, producer_id, producer_epoch| InitProducerIdRequest {
        transactional_id: transactional_id.map(Into::into),
        producer_id,
        producer_epoch,
        ..InitProducerIdRequest::default()
    };
    assert_eq!(refused(&request(None, -1, -1)), None);
    assert_eq!(refused(&request(None, 5, 0)), None, "KIP-360");
    assert_eq!(refused(&request(None, 5, -1)), Some(ErrorCode::InvalidRequest));
    assert_eq!(refused(&request(None, -1, 5)), Some(ErrorCode::InvalidRequest));
    assert_eq!(
        refused(&request(Some(""), -1, -1)),
        Some(ErrorCode::InvalidRequest)
    );
    assert_eq!(
        refused(&request(Some("orders"), -1, -1)),
        Some(ErrorCode::UnsupportedVersion)
    );
}
