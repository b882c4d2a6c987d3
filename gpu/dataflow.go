package gpu

// NoBuffer is what Written returns for an op that writes none.
const NoBuffer Buffer = -1

// Written is the buffer that an op overwrites, or adds to.
func Written(op Op) Buffer {
	switch op := op.(type) {
	case Embed:
		return op.Out
	case RMSNorm:
		return op.Out
	case Linear:
		return op.Out
	case Rope:
		return op.X
	case Attention:
		return op.Out
	case SiluMul:
		return op.Out
	case Gather:
		return op.Out
	}
	return NoBuffer
}

// Reads are the buffers that an op reads, with that to which it adds.
func Reads(op Op) []Buffer {
	switch op := op.(type) {
	case RMSNorm:
		return []Buffer{op.In}
	case Linear:
		if op.Accumulate {
			return []Buffer{op.In, op.Out}
		}
		return []Buffer{op.In}
	case Rope:
		return []Buffer{op.X}
	case StoreKV:
		return []Buffer{op.K, op.V}
	case Attention:
		return []Buffer{op.Q}
	case SiluMul:
		return []Buffer{op.Gate, op.Up}
	case Gather:
		return []Buffer{op.In}
	case Sample:
		return []Buffer{op.Logits}
	}
	return nil
}
