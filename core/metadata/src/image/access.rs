//! Who may do what, how much of it, and how they prove who they are: ACLs, SCRAM credentials, delegation tokens, quotas.
//!
//! Kept and handed on whole; the rules on them belong to the security room.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use model::Uuid;
use wire::internal::metadata_log::{
    AccessControlEntryRecord, ClientQuotaRecord, DelegationTokenRecord, EntityData,
    RemoveAccessControlEntryRecord, RemoveDelegationTokenRecord, RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
};

use super::ApplyError;
use crate::delta::Delta;
use crate::record::MetadataRecord;

/// One rule of access, its codes as in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// What kind of resource.
    pub resource_type: i8,
    /// Its name.
    pub resource_name: Arc<str>,
    /// Whether the name is literal or a prefix.
    pub pattern_type: i8,
    /// Who.
    pub principal: Arc<str>,
    /// From where.
    pub host: Arc<str>,
    /// What.
    pub operation: i8,
    /// Allowed or denied.
    pub permission_type: i8,
}

/// All rules of access by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acls {
    by_id: BTreeMap<Uuid, Acl>,
}

impl Acls {
    /// Every rule.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, &Acl)> {
        self.by_id.iter().map(|(id, acl)| (*id, acl))
    }

    pub(super) fn add(&mut self, record: &AccessControlEntryRecord, delta: &mut Delta) {
        delta.acls.insert(record.id);
        let acl = Acl {
            resource_type: record.resource_type,
            resource_name: Arc::from(&*record.resource_name),
            pattern_type: record.pattern_type,
            principal: Arc::from(&*record.principal),
            host: Arc::from(&*record.host),
            operation: record.operation,
            permission_type: record.permission_type,
        };
        self.by_id.insert(record.id, acl);
    }

    pub(super) fn remove(
        &mut self,
        record: &RemoveAccessControlEntryRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        delta.acls.insert(record.id);
        self.by_id
            .remove(&record.id)
            .map(drop)
            .ok_or(ApplyError::UnknownAcl { id: record.id })
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for (id, acl) in &self.by_id {
            out(MetadataRecord::AccessControlEntry(AccessControlEntryRecord {
                id: *id,
                resource_type: acl.resource_type,
                resource_name: acl.resource_name.as_ref().into(),
                pattern_type: acl.pattern_type,
                principal: acl.principal.as_ref().into(),
                host: acl.host.as_ref().into(),
                operation: acl.operation,
                permission_type: acl.permission_type,
            }));
        }
    }
}

/// What a broker knows of a password (RFC 5802). Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramCredential {
    /// The salt.
    pub salt: Bytes,
    /// Checks the client's proof.
    pub stored_key: Bytes,
    /// Proves the broker to the client.
    pub server_key: Bytes,
    /// How often the password was hashed.
    pub iterations: i32,
}

impl std::fmt::Debug for ScramCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScramCredential")
            .field("iterations", &self.iterations)
            .finish_non_exhaustive()
    }
}

/// SCRAM credentials by mechanism (1 SHA-256, 2 SHA-512) and user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScramCredentials {
    by_user: BTreeMap<(i8, Arc<str>), ScramCredential>,
}

impl ScramCredentials {
    /// The credential of a user for one mechanism.
    pub fn of(&self, mechanism: i8, user: &str) -> Option<&ScramCredential> {
        self.by_user.get(&(mechanism, Arc::from(user)))
    }

    /// Every credential with mechanism and user.
    pub fn iter(&self) -> impl Iterator<Item = (i8, &Arc<str>, &ScramCredential)> {
        self.by_user
            .iter()
            .map(|((mechanism, user), credential)| (*mechanism, user, credential))
    }

    pub(super) fn set(&mut self, record: &UserScramCredentialRecord, delta: &mut Delta) {
        let user: Arc<str> = Arc::from(&*record.name);
        delta.scram_users.insert(user.clone());
        let credential = ScramCredential {
            salt: record.salt.clone(),
            stored_key: record.stored_key.clone(),
            server_key: record.server_key.clone(),
            iterations: record.iterations,
        };
        self.by_user.insert((record.mechanism, user), credential);
    }

    pub(super) fn remove(&mut self, record: &RemoveUserScramCredentialRecord, delta: &mut Delta) {
        let user: Arc<str> = Arc::from(&*record.name);
        delta.scram_users.insert(user.clone());
        self.by_user.remove(&(record.mechanism, user));
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for ((mechanism, user), credential) in &self.by_user {
            out(MetadataRecord::UserScramCredential(UserScramCredentialRecord {
                name: user.as_ref().into(),
                mechanism: *mechanism,
                salt: credential.salt.clone(),
                stored_key: credential.stored_key.clone(),
                server_key: credential.server_key.clone(),
                iterations: credential.iterations,
            }));
        }
    }
}

/// A delegation token (KIP-48).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationToken {
    /// Who acts with it.
    pub owner: Arc<str>,
    /// Who asked for it.
    pub requester: Arc<str>,
    /// Who may renew it.
    pub renewers: Vec<Arc<str>>,
    /// When it was made.
    pub issue_timestamp_ms: i64,
    /// When it ends at the latest.
    pub max_timestamp_ms: i64,
    /// When it ends unless renewed.
    pub expiration_timestamp_ms: i64,
}

/// Delegation tokens by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelegationTokens {
    by_id: BTreeMap<Arc<str>, DelegationToken>,
}

impl DelegationTokens {
    /// Every token with its id.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &DelegationToken)> {
        self.by_id.iter()
    }

    pub(super) fn set(&mut self, record: &DelegationTokenRecord, delta: &mut Delta) {
        let id: Arc<str> = Arc::from(&*record.token_id);
        delta.delegation_tokens.insert(id.clone());
        let token = DelegationToken {
            owner: Arc::from(&*record.owner),
            requester: Arc::from(&*record.requester),
            renewers: record
                .renewers
                .iter()
                .map(|renewer| Arc::from(&**renewer))
                .collect(),
            issue_timestamp_ms: record.issue_timestamp,
            max_timestamp_ms: record.max_timestamp,
            expiration_timestamp_ms: record.expiration_timestamp,
        };
        self.by_id.insert(id, token);
    }

    pub(super) fn remove(&mut self, record: &RemoveDelegationTokenRecord, delta: &mut Delta) {
        if let Some((id, _)) = self.by_id.remove_entry(&*record.token_id) {
            delta.delegation_tokens.insert(id);
        }
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for (id, token) in &self.by_id {
            out(MetadataRecord::DelegationToken(DelegationTokenRecord {
                owner: token.owner.as_ref().into(),
                requester: token.requester.as_ref().into(),
                renewers: token
                    .renewers
                    .iter()
                    .map(|renewer| renewer.as_ref().into())
                    .collect(),
                issue_timestamp: token.issue_timestamp_ms,
                max_timestamp: token.max_timestamp_ms,
                expiration_timestamp: token.expiration_timestamp_ms,
                token_id: id.as_ref().into(),
            }));
        }
    }
}

/// Whom a quota bounds: for each kind of entity (`user`, `client-id`, `ip`) a name, or `None` for all others.
pub type QuotaEntity = BTreeMap<Arc<str>, Option<Arc<str>>>;

/// Quotas by whom they bound, and by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientQuotas {
    by_entity: BTreeMap<QuotaEntity, BTreeMap<Arc<str>, f64>>,
}

impl ClientQuotas {
    /// Every entity and its quotas.
    pub fn iter(&self) -> impl Iterator<Item = (&QuotaEntity, &BTreeMap<Arc<str>, f64>)> {
        self.by_entity.iter()
    }

    pub(super) fn set(&mut self, record: &ClientQuotaRecord, delta: &mut Delta) {
        let entity: QuotaEntity = record
            .entity
            .iter()
            .map(|part| {
                (
                    Arc::from(&*part.entity_type),
                    part.entity_name.as_ref().map(|name| Arc::from(&**name)),
                )
            })
            .collect();
        delta.quotas.insert(entity.clone());
        if !record.remove {
            self.by_entity
                .entry(entity)
                .or_default()
                .insert(Arc::from(&*record.key), record.value);
        } else if let Some(quotas) = self.by_entity.get_mut(&entity) {
            quotas.remove(&*record.key);
            if quotas.is_empty() {
                self.by_entity.remove(&entity);
            }
        }
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for (entity, quotas) in &self.by_entity {
            for (key, value) in quotas {
                out(MetadataRecord::ClientQuota(ClientQuotaRecord {
                    entity: entity
                        .iter()
                        .map(|(kind, name)| EntityData {
                            entity_type: kind.as_ref().into(),
                            entity_name: name.as_deref().map(Into::into),
                        })
                        .collect(),
                    key: key.as_ref().into(),
                    value: *value,
                    remove: false,
                }));
            }
        }
    }
}
