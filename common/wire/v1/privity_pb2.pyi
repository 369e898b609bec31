from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Chunk(_message.Message):
    __slots__ = ("data", "process")
    DATA_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    process: str
    def __init__(self, data: _Optional[bytes] = ..., process: _Optional[str] = ...) -> None: ...

class NextStepRequest(_message.Message):
    __slots__ = ("wait_seconds", "process")
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    wait_seconds: int
    process: str
    def __init__(self, wait_seconds: _Optional[int] = ..., process: _Optional[str] = ...) -> None: ...

class AliveRequest(_message.Message):
    __slots__ = ("version", "process")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    version: str
    process: str
    def __init__(self, version: _Optional[str] = ..., process: _Optional[str] = ...) -> None: ...

class AliveReply(_message.Message):
    __slots__ = ("run", "key", "digest", "other")
    RUN_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    run: str
    key: str
    digest: bytes
    other: str
    def __init__(self, run: _Optional[str] = ..., key: _Optional[str] = ..., digest: _Optional[bytes] = ..., other: _Optional[str] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ManifestRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ManifestReply(_message.Message):
    __slots__ = ("document",)
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    document: bytes
    def __init__(self, document: _Optional[bytes] = ...) -> None: ...

class PublishRequest(_message.Message):
    __slots__ = ("document",)
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    document: bytes
    def __init__(self, document: _Optional[bytes] = ...) -> None: ...

class StatementsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Statement(_message.Message):
    __slots__ = ("attestation", "enrolment", "spec")
    ATTESTATION_FIELD_NUMBER: _ClassVar[int]
    ENROLMENT_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    attestation: bytes
    enrolment: bytes
    spec: bytes
    def __init__(self, attestation: _Optional[bytes] = ..., enrolment: _Optional[bytes] = ..., spec: _Optional[bytes] = ...) -> None: ...

class PartiesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PartiesReply(_message.Message):
    __slots__ = ("parties",)
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    parties: _containers.RepeatedCompositeFieldContainer[PartyStatus]
    def __init__(self, parties: _Optional[_Iterable[_Union[PartyStatus, _Mapping]]] = ...) -> None: ...

class PartyStatus(_message.Message):
    __slots__ = ("party", "connected", "since", "version", "paused", "other")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    party: str
    connected: bool
    since: str
    version: str
    paused: bool
    other: str
    def __init__(self, party: _Optional[str] = ..., connected: _Optional[bool] = ..., since: _Optional[str] = ..., version: _Optional[str] = ..., paused: _Optional[bool] = ..., other: _Optional[str] = ...) -> None: ...

class LimitsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LimitsReply(_message.Message):
    __slots__ = ("documents",)
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, documents: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("run", "enrol", "begin", "contribute", "seal_block", "combine_block", "select", "close", "learn", "revealed", "select_table", "recode", "stopped", "attest")
    RUN_FIELD_NUMBER: _ClassVar[int]
    ENROL_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    SEAL_BLOCK_FIELD_NUMBER: _ClassVar[int]
    COMBINE_BLOCK_FIELD_NUMBER: _ClassVar[int]
    SELECT_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    LEARN_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    SELECT_TABLE_FIELD_NUMBER: _ClassVar[int]
    RECODE_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    ATTEST_FIELD_NUMBER: _ClassVar[int]
    run: str
    enrol: Enrol
    begin: Begin
    contribute: Contribute
    seal_block: SealBlock
    combine_block: CombineBlock
    select: Select
    close: Close
    learn: Learn
    revealed: Revealed
    select_table: SelectTable
    recode: Recode
    stopped: Stopped
    attest: Attest
    def __init__(self, run: _Optional[str] = ..., enrol: _Optional[_Union[Enrol, _Mapping]] = ..., begin: _Optional[_Union[Begin, _Mapping]] = ..., contribute: _Optional[_Union[Contribute, _Mapping]] = ..., seal_block: _Optional[_Union[SealBlock, _Mapping]] = ..., combine_block: _Optional[_Union[CombineBlock, _Mapping]] = ..., select: _Optional[_Union[Select, _Mapping]] = ..., close: _Optional[_Union[Close, _Mapping]] = ..., learn: _Optional[_Union[Learn, _Mapping]] = ..., revealed: _Optional[_Union[Revealed, _Mapping]] = ..., select_table: _Optional[_Union[SelectTable, _Mapping]] = ..., recode: _Optional[_Union[Recode, _Mapping]] = ..., stopped: _Optional[_Union[Stopped, _Mapping]] = ..., attest: _Optional[_Union[Attest, _Mapping]] = ...) -> None: ...

class Enrol(_message.Message):
    __slots__ = ("spec", "request")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    spec: bytes
    request: bytes
    def __init__(self, spec: _Optional[bytes] = ..., request: _Optional[bytes] = ...) -> None: ...

class Begin(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    def __init__(self, plan: _Optional[bytes] = ...) -> None: ...

class Round(_message.Message):
    __slots__ = ("phase", "round", "tables", "scores", "laplace", "gaussian", "advanced", "replacement")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    LAPLACE_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_FIELD_NUMBER: _ClassVar[int]
    ADVANCED_FIELD_NUMBER: _ClassVar[int]
    REPLACEMENT_FIELD_NUMBER: _ClassVar[int]
    phase: str
    round: str
    tables: Tables
    scores: bytes
    laplace: LaplaceNoise
    gaussian: GaussianNoise
    advanced: AdvancedLaplaceNoise
    replacement: Replacement
    def __init__(self, phase: _Optional[str] = ..., round: _Optional[str] = ..., tables: _Optional[_Union[Tables, _Mapping]] = ..., scores: _Optional[bytes] = ..., laplace: _Optional[_Union[LaplaceNoise, _Mapping]] = ..., gaussian: _Optional[_Union[GaussianNoise, _Mapping]] = ..., advanced: _Optional[_Union[AdvancedLaplaceNoise, _Mapping]] = ..., replacement: _Optional[_Union[Replacement, _Mapping]] = ...) -> None: ...

class Tables(_message.Message):
    __slots__ = ("marginals", "weights")
    MARGINALS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    marginals: _containers.RepeatedCompositeFieldContainer[Attributes]
    weights: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, marginals: _Optional[_Iterable[_Union[Attributes, _Mapping]]] = ..., weights: _Optional[_Iterable[int]] = ...) -> None: ...

class LaplaceNoise(_message.Message):
    __slots__ = ("scale",)
    SCALE_FIELD_NUMBER: _ClassVar[int]
    scale: str
    def __init__(self, scale: _Optional[str] = ...) -> None: ...

class GaussianNoise(_message.Message):
    __slots__ = ("scale", "rho")
    SCALE_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    scale: str
    rho: str
    def __init__(self, scale: _Optional[str] = ..., rho: _Optional[str] = ...) -> None: ...

class AdvancedLaplaceNoise(_message.Message):
    __slots__ = ("scale", "epsilon", "delta")
    SCALE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    scale: str
    epsilon: str
    delta: str
    def __init__(self, scale: _Optional[str] = ..., epsilon: _Optional[str] = ..., delta: _Optional[str] = ...) -> None: ...

class Replacement(_message.Message):
    __slots__ = ("coverage", "previous", "previous_coverage", "widest", "last")
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_COVERAGE_FIELD_NUMBER: _ClassVar[int]
    WIDEST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    coverage: int
    previous: str
    previous_coverage: int
    widest: str
    last: bool
    def __init__(self, coverage: _Optional[int] = ..., previous: _Optional[str] = ..., previous_coverage: _Optional[int] = ..., widest: _Optional[str] = ..., last: _Optional[bool] = ...) -> None: ...

class Attributes(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, index: _Optional[_Iterable[int]] = ...) -> None: ...

class Contribute(_message.Message):
    __slots__ = ("round",)
    ROUND_FIELD_NUMBER: _ClassVar[int]
    round: Round
    def __init__(self, round: _Optional[_Union[Round, _Mapping]] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("round", "digest", "number", "combiners")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    COMBINERS_FIELD_NUMBER: _ClassVar[int]
    round: str
    digest: str
    number: int
    combiners: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, round: _Optional[str] = ..., digest: _Optional[str] = ..., number: _Optional[int] = ..., combiners: _Optional[_Iterable[str]] = ...) -> None: ...

class SealBlock(_message.Message):
    __slots__ = ("attempt", "block")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    attempt: Attempt
    block: int
    def __init__(self, attempt: _Optional[_Union[Attempt, _Mapping]] = ..., block: _Optional[int] = ...) -> None: ...

class CombineBlock(_message.Message):
    __slots__ = ("attempt", "block", "node", "blobs", "base")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    attempt: Attempt
    block: int
    node: int
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    base: bytes
    def __init__(self, attempt: _Optional[_Union[Attempt, _Mapping]] = ..., block: _Optional[int] = ..., node: _Optional[int] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., base: _Optional[bytes] = ...) -> None: ...

class Revealed(_message.Message):
    __slots__ = ("round", "digest")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    round: str
    digest: str
    def __init__(self, round: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class Blob(_message.Message):
    __slots__ = ("sender", "ciphertext", "signature")
    SENDER_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    sender: str
    ciphertext: bytes
    signature: bytes
    def __init__(self, sender: _Optional[str] = ..., ciphertext: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class CandidateGroup(_message.Message):
    __slots__ = ("attributes", "pool", "size", "parent_sets")
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    PARENT_SETS_FIELD_NUMBER: _ClassVar[int]
    attributes: _containers.RepeatedScalarFieldContainer[int]
    pool: _containers.RepeatedScalarFieldContainer[int]
    size: int
    parent_sets: _containers.RepeatedCompositeFieldContainer[Attributes]
    def __init__(self, attributes: _Optional[_Iterable[int]] = ..., pool: _Optional[_Iterable[int]] = ..., size: _Optional[int] = ..., parent_sets: _Optional[_Iterable[_Union[Attributes, _Mapping]]] = ...) -> None: ...

class Select(_message.Message):
    __slots__ = ("phase", "selection", "candidates", "mechanism", "score")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    phase: str
    selection: str
    candidates: _containers.RepeatedCompositeFieldContainer[CandidateGroup]
    mechanism: Selecting
    score: str
    def __init__(self, phase: _Optional[str] = ..., selection: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[CandidateGroup, _Mapping]]] = ..., mechanism: _Optional[_Union[Selecting, _Mapping]] = ..., score: _Optional[str] = ...) -> None: ...

class SelectTable(_message.Message):
    __slots__ = ("phase", "selection", "expected", "mechanism")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    phase: str
    selection: str
    expected: ExpectedTables
    mechanism: Selecting
    def __init__(self, phase: _Optional[str] = ..., selection: _Optional[str] = ..., expected: _Optional[_Union[ExpectedTables, _Mapping]] = ..., mechanism: _Optional[_Union[Selecting, _Mapping]] = ...) -> None: ...

class Selecting(_message.Message):
    __slots__ = ("noisy_max", "exponential")
    NOISY_MAX_FIELD_NUMBER: _ClassVar[int]
    EXPONENTIAL_FIELD_NUMBER: _ClassVar[int]
    noisy_max: str
    exponential: str
    def __init__(self, noisy_max: _Optional[str] = ..., exponential: _Optional[str] = ...) -> None: ...

class ExpectedTables(_message.Message):
    __slots__ = ("tables", "counts", "rows", "penalties")
    TABLES_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PENALTIES_FIELD_NUMBER: _ClassVar[int]
    tables: _containers.RepeatedCompositeFieldContainer[Attributes]
    counts: _containers.RepeatedScalarFieldContainer[int]
    rows: int
    penalties: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, tables: _Optional[_Iterable[_Union[Attributes, _Mapping]]] = ..., counts: _Optional[_Iterable[int]] = ..., rows: _Optional[int] = ..., penalties: _Optional[_Iterable[int]] = ...) -> None: ...

class Learn(_message.Message):
    __slots__ = ("phase", "name", "algorithm", "settings", "epsilon")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    phase: str
    name: str
    algorithm: str
    settings: bytes
    epsilon: str
    def __init__(self, phase: _Optional[str] = ..., name: _Optional[str] = ..., algorithm: _Optional[str] = ..., settings: _Optional[bytes] = ..., epsilon: _Optional[str] = ...) -> None: ...

class Recode(_message.Message):
    __slots__ = ("name", "edges")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    name: str
    edges: _containers.RepeatedCompositeFieldContainer[Edges]
    def __init__(self, name: _Optional[str] = ..., edges: _Optional[_Iterable[_Union[Edges, _Mapping]]] = ...) -> None: ...

class Edges(_message.Message):
    __slots__ = ("attribute", "edges")
    ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    attribute: int
    edges: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, attribute: _Optional[int] = ..., edges: _Optional[_Iterable[str]] = ...) -> None: ...

class Attest(_message.Message):
    __slots__ = ("run_document", "privacy")
    RUN_DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_FIELD_NUMBER: _ClassVar[int]
    run_document: bytes
    privacy: bytes
    def __init__(self, run_document: _Optional[bytes] = ..., privacy: _Optional[bytes] = ...) -> None: ...

class Close(_message.Message):
    __slots__ = ("state", "since", "why")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    state: str
    since: str
    why: str
    def __init__(self, state: _Optional[str] = ..., since: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class Stopped(_message.Message):
    __slots__ = ("since",)
    SINCE_FIELD_NUMBER: _ClassVar[int]
    since: str
    def __init__(self, since: _Optional[str] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("run", "key", "enrolled", "done", "sealed", "sum", "selected", "refusal", "learned", "pending", "attested")
    RUN_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ENROLLED_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    SELECTED_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    LEARNED_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    ATTESTED_FIELD_NUMBER: _ClassVar[int]
    run: str
    key: str
    enrolled: Enrolled
    done: Done
    sealed: Blob
    sum: Sum
    selected: Selected
    refusal: Refusal
    learned: Learned
    pending: Pending
    attested: Attested
    def __init__(self, run: _Optional[str] = ..., key: _Optional[str] = ..., enrolled: _Optional[_Union[Enrolled, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., sealed: _Optional[_Union[Blob, _Mapping]] = ..., sum: _Optional[_Union[Sum, _Mapping]] = ..., selected: _Optional[_Union[Selected, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., learned: _Optional[_Union[Learned, _Mapping]] = ..., pending: _Optional[_Union[Pending, _Mapping]] = ..., attested: _Optional[_Union[Attested, _Mapping]] = ...) -> None: ...

class Enrolled(_message.Message):
    __slots__ = ("enrolment",)
    ENROLMENT_FIELD_NUMBER: _ClassVar[int]
    enrolment: bytes
    def __init__(self, enrolment: _Optional[bytes] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Sum(_message.Message):
    __slots__ = ("payload",)
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    def __init__(self, payload: _Optional[bytes] = ...) -> None: ...

class Selected(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    def __init__(self, index: _Optional[int] = ...) -> None: ...

class Learned(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: bytes
    def __init__(self, model: _Optional[bytes] = ...) -> None: ...

class Pending(_message.Message):
    __slots__ = ("reason", "since")
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    reason: str
    since: str
    def __init__(self, reason: _Optional[str] = ..., since: _Optional[str] = ...) -> None: ...

class Attested(_message.Message):
    __slots__ = ("attestation",)
    ATTESTATION_FIELD_NUMBER: _ClassVar[int]
    attestation: bytes
    def __init__(self, attestation: _Optional[bytes] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("code", "message", "remedy")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    remedy: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("token", "request")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    token: str
    request: bytes
    def __init__(self, token: _Optional[str] = ..., request: _Optional[bytes] = ...) -> None: ...

class SubmitReply(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class RunName(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class RunEvent(_message.Message):
    __slots__ = ("state", "reason", "phase", "done", "parties", "cells", "ciphertexts", "bytes", "epsilon", "note", "remedy")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXTS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    state: str
    reason: str
    phase: str
    done: int
    parties: int
    cells: int
    ciphertexts: int
    bytes: int
    epsilon: str
    note: str
    remedy: str
    def __init__(self, state: _Optional[str] = ..., reason: _Optional[str] = ..., phase: _Optional[str] = ..., done: _Optional[int] = ..., parties: _Optional[int] = ..., cells: _Optional[int] = ..., ciphertexts: _Optional[int] = ..., bytes: _Optional[int] = ..., epsilon: _Optional[str] = ..., note: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ("run", "discard")
    RUN_FIELD_NUMBER: _ClassVar[int]
    DISCARD_FIELD_NUMBER: _ClassVar[int]
    run: str
    discard: bool
    def __init__(self, run: _Optional[str] = ..., discard: _Optional[bool] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RunList(_message.Message):
    __slots__ = ("runs", "left_out")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[RunStatus]
    left_out: int
    def __init__(self, runs: _Optional[_Iterable[_Union[RunStatus, _Mapping]]] = ..., left_out: _Optional[int] = ...) -> None: ...

class RunStatus(_message.Message):
    __slots__ = ("run", "algorithm", "epsilon", "submitted", "state", "reason", "remedy", "phase", "awaited", "last_error", "submitter", "since", "refusals", "done", "parties")
    RUN_FIELD_NUMBER: _ClassVar[int]
    ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    SUBMITTER_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    PARTIES_FIELD_NUMBER: _ClassVar[int]
    run: str
    algorithm: str
    epsilon: str
    submitted: str
    state: str
    reason: str
    remedy: str
    phase: str
    awaited: _containers.RepeatedCompositeFieldContainer[Awaited]
    last_error: str
    submitter: str
    since: str
    refusals: _containers.RepeatedCompositeFieldContainer[Refused]
    done: int
    parties: int
    def __init__(self, run: _Optional[str] = ..., algorithm: _Optional[str] = ..., epsilon: _Optional[str] = ..., submitted: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., remedy: _Optional[str] = ..., phase: _Optional[str] = ..., awaited: _Optional[_Iterable[_Union[Awaited, _Mapping]]] = ..., last_error: _Optional[str] = ..., submitter: _Optional[str] = ..., since: _Optional[str] = ..., refusals: _Optional[_Iterable[_Union[Refused, _Mapping]]] = ..., done: _Optional[int] = ..., parties: _Optional[int] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("party", "code", "message", "remedy")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    party: str
    code: str
    message: str
    remedy: str
    def __init__(self, party: _Optional[str] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class Awaited(_message.Message):
    __slots__ = ("party", "step", "phase", "seconds", "silent_seconds", "note", "since", "silent_since")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    SILENT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    SILENT_SINCE_FIELD_NUMBER: _ClassVar[int]
    party: str
    step: str
    phase: str
    seconds: int
    silent_seconds: int
    note: str
    since: str
    silent_since: str
    def __init__(self, party: _Optional[str] = ..., step: _Optional[str] = ..., phase: _Optional[str] = ..., seconds: _Optional[int] = ..., silent_seconds: _Optional[int] = ..., note: _Optional[str] = ..., since: _Optional[str] = ..., silent_since: _Optional[str] = ...) -> None: ...

class FileChunk(_message.Message):
    __slots__ = ("name", "data")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    data: bytes
    def __init__(self, name: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...
