package messages

// RequestID names one engine request (one choice of one prompt). Intake assigns the ids
// in arrival order and never reuses one within a process. Ids of users are attributes
// of calls and never keys inside the engine.
type RequestID uint64

// CallID names a client's call of one or more requests (n choices, lists of prompts).
type CallID uint64

// EngineID names one of the engines of an intake, from 0.
type EngineID uint16

// Epoch counts the starts of an engine's actors, from 1: a failure ends the epoch,
// and new actors begin the next one. Messages of another epoch are ignored.
type Epoch uint32

// PlanID counts the plans of a batch former within one epoch, from 1.
type PlanID uint64

// StepID counts the launched steps of a batch former in one epoch, from 1; 0: none yet.
type StepID uint64

// Row is an index into the request-to-token table (the first level of the KV
// pool): one row per running request, 0 <= Row < max running requests.
type Row int32

// Page is a page of the KV pool (the second level): with page size P, the slots [Page*P,
// Page*P+P). Page 0 absorbs the writes of padding, so the usable pages are 1..Total.
type Page int32

// NodeID is the handle of a radix node that its holder has locked; RootNode, zero:
// nothing matched and nothing has to be unlocked. It is valid while it is locked, even
// if the node is split: the part with the deeper tokens keeps the id.
type NodeID uint64

// RootNode is the always locked root of the radix tree.
const RootNode NodeID = 0

// Ticket pairs an administrative question with its answer. Intake assigns it.
type Ticket uint64
