// Package messages declares the messages between actors and the ids that they use.
// Messages are commands, events and replies, in one file per receiver. The package
// imports only the standard library, so that cores and shells can share it. The interface
// ToCache is the set of messages that the cache accepts; likewise for the other
// receivers.
//
// Messages are sent by pointer and do not change after that. A slice in a message is
// either moved (from then on the receiver owns it) or frozen (never changed, so it can
// be shared); the comment of the field says which. Messages name roles, never
// addresses: the wiring maps roles to actors.
//
// The messages of every step are pooled. Their memory, with all slices that were moved
// in them, returns to the sender at a fixed point, after which the receiver must not
// use it: a RunBatch with the step's BatchDone, a CommitPlan and its ReservePages with
// PagesReserved, a PagesReserved with the next CommitPlan, a StepResults when intake
// sends it back (never, if the queue reads it as well), a BatchDone when the step after the next is launched.
//
// Names: a command is a verb with its object, an event is a past participle, a
// reply is the command's object with the outcome, and a timer ends in Due.
//
// # Parts
//
//	intake, queue, former, cache, allocator   the messages that this actor receives, with the types in them
//	runner, supervisor, observer, dispatch    likewise
//	portal, link                              likewise
//	client                                    what intake sends on the channel of a call
//	requests, params                          a request as the engine sees it; sampling parameters, log probabilities
//	ids, roles, pagerun                       ids and epochs; the actors' roles; lists of KV pages
//	snapshot                                  what an engine holds at one moment, for people
//	snapshotmap, snapshotruns                 in it: pages by owner, as cells; runs of a request's pages
//	header, outbox, metrics                   a message's engine and epoch; effects of a core; names of metrics
//
// # Protocol
//
// All messages with their senders and receivers. Tests compare the table with the code, and
// with the lists in the packages of the actors. The owner is the process that started the
// engine (Drain and Configure of package engine). "any" stands for
// the actors of an epoch, intake, dispatch and portal.
//
//	| message           | from → to               | reply                           | late or refused                                    |
//	|-------------------|-------------------------|---------------------------------|----------------------------------------------------|
//	| SubmitRequests    | client → intake         | CallAccepted or CallRefused     | refused at a bound, never dropped                  |
//	| AbortRequests     | client → intake         | CallOutput with the end         | ids unknown to its owner match nothing             |
//	| DropCall          | client → intake         | none                            | of an ended call: ignored                          |
//	| ResumeOutput      | client → intake         | CallOutput if there is more     | of an ended call: ignored                          |
//	| AskCacheFlush     | client → intake         | on its channel                  | refused while requests run or the engine is down   |
//	| AskAudit          | client → intake         | on its channel                  | nil while the engine is down                       |
//	| AskSnapshot       | client → intake         | on its channel                  | nil while the engine is down                       |
//	| AskCacheTree      | client → intake         | on its channel                  | nil while the engine is down                       |
//	| DescribeCache     | intake → cache          | CacheDescribed                  | of an older epoch: ignored; intake answers itself  |
//	| CacheDescribed    | cache → intake          | none                            | answers the client's AskCacheTree                  |
//	| DrainIntake       | owner → intake          | its channel closes              | idempotent                                         |
//	| ConfigureIntake   | owner → intake          | on its channel                  | idempotent; limits out of range are refused        |
//	| CallAccepted      | intake → client         | none                            | first event of a call                              |
//	| CallRefused       | intake → client         | none                            | only event of a call                               |
//	| CallOutput        | intake → client         | ResumeOutput if Paused          | kept in intake's table while the reader is slow    |
//	| EnqueueRequests   | intake → queue          | none                            | of an older epoch: ignored; intake submits again   |
//	| FinishRequests    | intake → queue → former | RequestEnded per id             | acknowledged also when unknown or repeated         |
//	| OfferCandidates   | former → queue          | CandidatesOffered               | an empty offer is valid                            |
//	| ClaimCandidates   | former → queue          | none                            | ids finished meanwhile are skipped                 |
//	| CandidatesWaiting | queue → former          | none                            | a hint to an idle or blocked batch former          |
//	| CandidatesOffered | queue → former          | ClaimCandidates for the taken   | of an older plan: an invariant violation           |
//	| PeekPrefixes      | queue → cache           | PrefixesPeeked                  | hints only: nothing is locked                      |
//	| PrefixesPeeked    | cache → queue           | none                            | may be outdated; only LockPrefixes is binding      |
//	| LockPrefixes      | former → cache          | PrefixesLocked                  | nothing matched is a match of no pages             |
//	| PrefixesLocked    | cache → former          | none                            | released by CommitPlan                             |
//	| CommitPlan        | former → cache          | PagesReserved by allocator      | one plan at a time                                 |
//	| ReservePages      | cache → allocator       | PagesReserved or PagesRefused   | all or nothing                                     |
//	| PagesReserved     | allocator → former      | RunBatch when there is work     | closes the plan                                    |
//	| PagesRefused      | allocator → former      | none                            | an invariant violation: plans use exact counters   |
//	| RunBatch          | former → runner         | BatchDone or BatchFailed        | of an older epoch: ignored                         |
//	| WatchdogDue       | runner → runner         | FailEpoch if a step is overdue  | of an older epoch: ignored                         |
//	| BatchDone         | runner → former         | none                            | of an older epoch: ignored                         |
//	| MaskReady         | runner → former         | RunBatch with the row           | after the BatchDone with the late row; of a row that has ended: ignored |
//	| BatchFailed       | runner → former         | FailEpoch to the supervisor     | results of the step are dropped                    |
//	| StepResults       | former → intake         | none                            | of an older epoch: ignored; a gap ends the epoch   |
//	| StepResults       | intake → former         | none                            | returns its memory; of an older epoch: dropped     |
//	| StepResults       | former → queue          | none                            | only if the policy asks for it; it reads           |
//	| FlushCache        | intake → former         | CacheFlushed or FlushRefused    | waits for the end of an open plan                  |
//	| CacheFlushed      | former → intake         | none                            | answers the client's AskCacheFlush                 |
//	| FlushRefused      | former → intake         | none                            | answers the client's AskCacheFlush                 |
//	| AuditSlots        | intake → former         | SlotsAudited                    | waits for the end of an open plan                  |
//	| AuditSlots        | former → cache          | AuditSlots                      | goes around the ring; no plan is opened until then |
//	| AuditSlots        | cache → allocator       | AuditSlots                      | each owner adds its part                           |
//	| AuditSlots        | allocator → former      | SlotsAudited if ticketed        | unbalanced: FailEpoch                              |
//	| SlotsAudited      | former → intake         | none                            | answers the client's AskAudit or AskSnapshot       |
//	| DeadlinesDue      | intake → intake         | none                            | early: ignored; late: what is overdue is ended     |
//	| SubscribeEvents   | client → observer       | EventsSubscribed on its channel | refused at the limit of readers                    |
//	| DropSubscription  | client → observer       | none                            | of an ended subscription: ignored                  |
//	| EpochStarted      | supervisor → observer   | none                            | of an older epoch: ignored                         |
//	| CacheChanged      | cache → observer        | none                            | with KV events on; a gap in Seq shows a loss       |
//	| FailEpoch         | any → supervisor        | EpochEnded to intake            | only the first of an epoch counts                  |
//	| DeviceQuiesced    | supervisor → supervisor | none                            | of an older epoch: ignored                         |
//	| QuiesceDue        | supervisor → supervisor | none                            | ends the process if the device is still busy       |
//	| EpochDue          | supervisor → supervisor | EpochStarted to intake          | of an older epoch: ignored                         |
//	| StartEpochs       | owner → supervisor      | EpochStarted to intake          | unless FailEpoch has put epochs on hold: ignored   |
//	| EpochStarted      | supervisor → intake     | EnqueueRequests to queue        | intake submits all unfinished requests             |
//	| EpochEnded        | supervisor → intake     | none                            | suspects are counted                               |
//
// # Several engines
//
// With several engines and one intake, dispatch is between them. To intake it acts as
// queue, batch former, cache and supervisor of one engine; to an engine as intake and observer.
//
//	| message         | from → to                      | reply                            | late or refused                                                     |
//	|-----------------|--------------------------------|----------------------------------|---------------------------------------------------------------------|
//	| EnqueueRequests | intake → dispatch → queue      | none                             | held while no engine can take them, for ResumeWait at most          |
//	| FinishRequests  | intake → dispatch → queue      | StepResults by dispatch, former  | to the engine that has the request; others are acknowledged at once |
//	| FlushCache      | intake → dispatch → former     | CacheFlushed or FlushRefused     | to every engine; the answers are added up                           |
//	| AuditSlots      | intake → dispatch → former     | SlotsAudited                     | to every engine; the answers are added up                           |
//	| DescribeCache   | intake → dispatch → cache      | CacheDescribed                   | to every engine; the trees are listed together                      |
//	| StepResults     | former → dispatch → intake     | none                             | numbered again; a gap ends the engine's epoch                       |
//	| StepResults     | intake → dispatch → former     | none                             | to the engine that sent them                                        |
//	| CacheFlushed    | former → dispatch → intake     | none                             | of an engine that is down: not waited for                           |
//	| FlushRefused    | former → dispatch → intake     | none                             | one refusal is enough                                               |
//	| SlotsAudited    | former → dispatch → intake     | none                             | of an engine that is down: not waited for                           |
//	| CacheDescribed  | cache → dispatch → intake      | none                             | of an engine that is down: not waited for                           |
//	| CacheChanged    | cache → dispatch → observer    | none                             | also without KV events, for a router that follows the caches        |
//	| ListPages       | portal → dispatch → cache      | PagesListed                      | engine by engine, for a portal                                      |
//	| PagesListed     | cache → dispatch → portal      | none                             | an engine that is lost is left out                                  |
//	| EpochStarted    | supervisor → dispatch → intake | none                             | intake gets the first one, or one at the start with a ResumeWait    |
//	| EpochEnded      | supervisor → dispatch → intake | EnqueueRequests of what was lost | only the requests of this engine                                    |
//	| FailEpoch       | intake → dispatch              | EpochEnded to intake             | every engine starts a new epoch                                     |
//
// # A cluster
//
// With engines in other processes, a link is between dispatch and each engine, and a portal
// between an engine and its gateways. A link has an end in both processes. The gateway's end
// plays the engine to dispatch. The engine's end plays the gateway to the portal. The
// portal plays intake and observer to the engine, and an engine to each gateway. So
// "dispatch → link → portal" is one way through both ends, as a frame in between
// (docs/wire.md). A node is the process that has the connection.
//
//	| message         | from → to                             | reply                           | late or refused                                                       |
//	|-----------------|---------------------------------------|---------------------------------|-----------------------------------------------------------------------|
//	| EngineJoined    | link → dispatch                       | none                            | the engine is up with its EpochStarted                                |
//	| EngineLeft      | link → dispatch                       | EpochEnded of what was lost     | of an engine that is down: ignored                                    |
//	| EngineReported  | portal → link → dispatch              | none                            | of an engine that is down: ignored                                    |
//	| ReportDue       | portal → portal                       | EngineReported to each gateway  | of an earlier portal: ignored                                         |
//	| ResumeDue       | dispatch → dispatch                   | StepResults with ends           | of an earlier dispatch: ignored                                       |
//	| ListPages       | portal → cache                        | PagesListed                     | of an older epoch: ignored                                            |
//	| PagesListed     | cache → portal                        | CacheChanged to the new gateway | of an older epoch: ignored                                            |
//	| GatewayJoined   | link → portal                         | EpochStarted if the engine runs | the gateway's earlier link has ended                                  |
//	| GatewayLeft     | link → portal                         | FinishRequests of what it had   | of a gateway that has left: ignored                                   |
//	| FrameReceived   | node → link                           | none                            | a gap or a frame that is not possible ends the link                   |
//	| LinkBroken      | node → link                           | EngineLeft or GatewayLeft       | after the end: ignored                                                |
//	| EndLink         | node → link                           | EngineLeft or GatewayLeft       | after the end: ignored                                                |
//	| HeartbeatDue    | link → link                           | none                            | ends the link after a silence                                         |
//	| EnqueueRequests | dispatch → link → portal → queue      | none                            | of another epoch or link: ignored; dispatch has given them back       |
//	| FinishRequests  | dispatch → link → portal → queue      | StepResults by former           | what the engine does not have: ignored; its end was sent before       |
//	| FlushCache      | dispatch → link → portal → former     | CacheFlushed or FlushRefused    | of another epoch: ignored; dispatch does not wait for it              |
//	| AuditSlots      | dispatch → link → portal → former     | SlotsAudited                    | likewise                                                              |
//	| DescribeCache   | dispatch → link → portal → cache      | CacheDescribed                  | likewise                                                              |
//	| StepResults     | former → portal → link → dispatch     | none                            | each gateway's part, numbered again; a gap ends the epoch or the link |
//	| StepResults     | portal → former                       | none                            | returns its memory                                                    |
//	| StepResults     | dispatch → link                       | none                            | dropped: a frame's memory is not reused                               |
//	| CacheFlushed    | former → portal → link → dispatch     | none                            | to the gateway that has asked, unless it has left                     |
//	| FlushRefused    | former → portal → link → dispatch     | none                            | likewise                                                              |
//	| SlotsAudited    | former → portal → link → dispatch     | none                            | likewise                                                              |
//	| CacheDescribed  | cache → portal → link → dispatch      | none                            | likewise                                                              |
//	| CacheChanged    | cache → portal → link → dispatch      | none                            | to every gateway; one that joins gets what was stored before          |
//	| EpochStarted    | supervisor → portal → link → dispatch | EnqueueRequests by dispatch     | of an older epoch: ignored                                            |
//	| EpochEnded      | supervisor → portal → link → dispatch | EnqueueRequests by dispatch     | with the suspects among the gateway's own requests                    |
//	| FailEpoch       | dispatch → portal                     | EpochStarted                    | of the portal's own process: everything is submitted again            |
//	| FailEpoch       | dispatch → link                       | EngineLeft                      | ends the link with a goodbye; the engine's epoch goes on              |
//
// Two rules always hold: a command that lists a reply gets exactly one, or its epoch
// ends; and a request ends with exactly one CallRefused or one CallOutput with a Finish.
//
// # Concurrency properties
//
//   - Messages of one sender to one receiver arrive in the order of sending.
//   - There is no order between messages of different senders, or between
//     messages that reach a receiver along different paths.
//   - Delivery is at most once. The mailbox of a stopped actor is lost. Only
//     intake's table survives; the next epoch gets its requests from there.
package messages
