//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// samplingCases draw tokens and score them, with every setting of sampling.
func samplingCases() (list []goldenCase) {
	for _, vocab := range []int{37, 1000, 5003} {
		for _, deviation := range []float32{0.01, 2, 9} {
			list = append(list, goldenCase{
				name: fmt.Sprintf("sampling/vocab-%d/deviation-%v", vocab, deviation), kernels: []string{"sample", "score"},
				run: func(b *bed) []byte { return sampleAndScore(b, vocab, deviation) },
			})
		}
	}
	return list
}

// sampleSpecs are one for each setting, and some with all of them.
func sampleSpecs(b *bed, vocab int) (list []sampleSpec) {
	plain := sampleSpec{temperature: 1, topP: 1, repetition: 1, allowedAt: -1, score: -1}
	for i, change := range []func(s *sampleSpec){
		func(s *sampleSpec) { s.temperature = 0 },
		func(s *sampleSpec) {},
		func(s *sampleSpec) { s.temperature = 0.3; s.topP = 0.9 },
		func(s *sampleSpec) { s.topK = 5 },
		func(s *sampleSpec) { s.topK = int32(vocab - 1); s.topP = 0.5 },
		func(s *sampleSpec) { s.minP = 0.05 },
		func(s *sampleSpec) { s.historyN, s.repetition, s.frequency, s.presence = 4, 1.3, 0.4, 0.2 },
		func(s *sampleSpec) { s.biasN, s.maskedN = 3, 2 },
		func(s *sampleSpec) { s.allowedAt = 0 },
		func(s *sampleSpec) {
			s.temperature, s.topK, s.topP, s.minP = 1.7, 20, 0.95, 0.001
			s.historyN, s.repetition, s.biasN, s.allowedAt = 4, 0.8, 3, 0
		},
	} {
		s := plain
		change(&s)
		s.output, s.row = int32(i%4), int32(i)
		s.seed, s.position, s.choice = b.random.Uint64(), b.random.Uint64N(1<<20), uint32(i%3)
		if i%2 == 0 {
			s.score = 1 + int32(i/2) // 0 is that of the scoreSpec
			s.top = int32(min(i, vocab))
		}
		list = append(list, s)
	}
	return list
}

func sampleAndScore(b *bed, vocab int, deviation float32) []byte {
	const outputs = 4
	specs := sampleSpecs(b, vocab)
	scores := []scoreSpec{{output: 1, target: int32(vocab / 2), top: 7}}
	top, results := int32(7), len(scores)
	for i := range specs {
		if specs[i].score >= 0 {
			specs[i].topAt = top
			top += specs[i].top
			results++
		}
	}
	ids := func(n int) []int32 { // different ones
		var list []int32
		for _, p := range b.random.Perm(vocab)[:n] {
			list = append(list, int32(p))
		}
		return list
	}
	var history []tokenCount
	for i, id := range ids(4) {
		history = append(history, tokenCount{id, int32(i), int32(i % 2)})
	}
	var bias []tokenBias
	for i, id := range ids(3) {
		bias = append(bias, tokenBias{id, float32(i) - 1.5})
	}
	allowed := make([]uint32, (vocab+31)/32)
	for i := range allowed {
		allowed[i] = b.random.Uint32() | 1
	}
	if rest := vocab % 32; rest != 0 {
		allowed[len(allowed)-1] &= 1<<rest - 1
	}
	sampled, sampleOut := b.zeros(4*int64(len(specs))), b.room(sizeOf[sampleResult](len(specs)))
	scoreOut, topOut := b.room(sizeOf[scoreResult](results)), b.room(sizeOf[topEntry](int(top)))
	step := b.header(stepHeader{outputs: outputs, samples: int32(len(specs)), scores: int32(len(scores)), vocab: int32(vocab),
		sampled: sampled.Address(), sample: address(b, specs), score: address(b, scores), history: address(b, history), bias: address(b, bias),
		masked: address(b, ids(2)), allowed: address(b, allowed), sampleResult: sampleOut.Address(), scoreResult: scoreOut.Address(), top: topOut.Address()})
	logits := address(b, b.floats(outputs*vocab, deviation))
	const blocks = 3
	scratch := b.room(blocks * samplerBytes(vocab)).Address()
	b.run("sample", driver.Dim{X: blocks}, samplingThreads, 0, step, logits, scratch)
	b.run("score", driver.Dim{X: blocks}, samplingThreads, 0, step, logits, scratch)
	return slices.Concat(b.get(sampleOut, sizeOf[sampleResult](len(specs))), b.get(sampled, 4*int64(len(specs))),
		b.get(scoreOut, sizeOf[scoreResult](results)), b.get(topOut, sizeOf[topEntry](int(top))))
}
