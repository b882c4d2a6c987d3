package former

import "github.com/troupe-engine/troupe/messages"

// report tells intake, and the queue if its policy asks for it, how requests
// went on.
func (f *Core) report(r *messages.StepResults, out *messages.Outbox) {
	out.ToIntake(r)
	if f.opt.ReportToQueue {
		out.ToQueue(r)
	}
}
