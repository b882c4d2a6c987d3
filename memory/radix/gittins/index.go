package gittins

// index fills in the Gittins index of a class at each age, in hits per page and
// tick. mean is the number of pages of a mean request.
func (t *lifeTable) index(class int, mean float64, index *[ageBins]float64) {
	var hazard [ageBins]float64
	weight := max(priorPages, priorRequests*mean)
	for bin := range hazard {
		from, to := priorUsed[class][bin], priorUsed[class][bin+1]
		used, risk := t.used[class][bin], t.risk[class][bin]
		hazard[bin] = (used + float64(weight*(to-from))) / (max(risk, used) + float64(weight*(1-from)))
		hazard[bin] = min(hazard[bin], 0.999)
	}
	for bin := range index {
		best, hits, ticks, left := 0.0, 0.0, 0.0, 1.0
		for end := bin; end < ageBins; end++ {
			hits += float64(left * hazard[end])
			ticks += float64(left * float64(binAge[end+1]-binAge[end]) * (1 - hazard[end]/2))
			left *= 1 - hazard[end]
			if ticks > 0 {
				best = max(best, hits/ticks)
			}
		}
		index[bin] = best
	}
}
