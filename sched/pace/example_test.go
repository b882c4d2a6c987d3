package pace_test

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/pace"
)

// A pacer watches the steps of a device and limits the prompt tokens that are
// computed beside decoding rows. Here the target is 20 ms between two tokens.
func ExamplePacer() {
	p := pace.New(pace.Options{Target: 20 * time.Millisecond, PageSize: 16, ChunkSize: 512})
	var out messages.Outbox
	now := time.Duration(0)

	for step := messages.StepID(1); step <= 200; step++ {
		b := &messages.RunBatch{Step: step, Work: []messages.RowWork{{Row: 0, Start: 100, Count: 1, Sample: 1}}}
		decoding := p.Load(b)
		allowed := p.Allow(512, decoding, 0, &out)
		chunk := allowed.Most(0)
		b.Work = append(b.Work, messages.RowWork{Row: 1, Start: 0, Count: chunk})

		// The device takes 4 ms for a step and 50 µs more per prompt token. The
		// pacer does not know that, begins with the smallest chunk and learns.
		took := 4*time.Millisecond + time.Duration(chunk)*50*time.Microsecond
		p.Launched(now, b)
		now += took
		p.Done(now, step)
		if step == 1 || step == 200 {
			fmt.Printf("step %d takes %v\n", step, took.Round(time.Millisecond))
		}
	}

	// A step without decoding rows delays no token and has no limit.
	alone := p.Allow(512, pace.Load{}, 0, &out)
	fmt.Printf("alone: a chunk of %d tokens\n", alone.Most(0))

	// Output:
	// step 1 takes 5ms
	// step 200 takes 17ms
	// alone: a chunk of 512 tokens
}
