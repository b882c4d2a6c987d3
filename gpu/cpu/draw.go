package cpu

import "github.com/troupe-engine/troupe/gpu/cpu/kernel/scan"

// sumRun is the ids whose weights are summed in one call.
const sumRun = 1024

// runs are the sums of weights by run of ids, each accurate to sumError, and their total.
func (d *sampler) runs() (sums []float64, total float64) {
	d.sums = d.sums[:0]
	for x := d.x; len(x) > 0; {
		n := min(len(x), sumRun)
		sum := scan.SumExp(d.level, x[:n], float64(d.highest), 1/float64(d.temperature))
		d.sums, total = append(d.sums, sum), total+sum
		x = x[n:]
	}
	return d.sums, total
}

// ofAll samples from the whole vocabulary. It is not sure if the goal is so near
// to the border between two tokens that the order of summing decides.
func (d *sampler) ofAll(u float64) (id int32, sure bool) {
	if !d.fast {
		return 0, false
	}
	runs, total := d.runs()
	goal, doubt := u*total, 2*sumError*total
	run, sum := 0, 0.0
	for run < len(runs)-1 && sum+runs[run] <= goal {
		sum += runs[run]
		run++
	}
	for i, x := range d.x[run*sumRun : min(len(d.x), (run+1)*sumRun)] {
		before := sum
		if sum += d.weigh(x); sum > goal {
			return int32(run*sumRun + i), before < goal-doubt && sum > goal+doubt
		}
	}
	return 0, false
}

// pick samples from ids, which ascend: the first at which the running sum of
// weights exceeds u times their total.
func (c *candidates) pick(ids []int32, u float64) int32 {
	goal := u * c.total(ids)
	var sum float64
	var last int32
	for _, id := range ids {
		if sum += c.weight[id]; sum > goal {
			return id
		}
		if c.weight[id] > 0 {
			last = id
		}
	}
	return last // u x total was rounded up to the total
}
