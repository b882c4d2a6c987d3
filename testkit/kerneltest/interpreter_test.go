package kerneltest_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

// An interpreter of the generated assembly, for machines without AVX-512. It supports
// the instructions of the products and of attention, and checks that every access is
// inside the operands.

// vector is a register; X and Y registers are its lower bytes.
type vector [64]byte

type instruction struct {
	op        string
	args      []string
	broadcast bool // the memory operand is one element
	zeroing   bool // lanes that are masked become 0
}

type routine struct {
	code   []instruction
	labels map[string]int
	frame  int
}

// listing is a file of assembly.
type listing struct {
	routines map[string]*routine
	data     map[string][]byte
}

var (
	memoryOperand = regexp.MustCompile(`^(?:(\w+)<>)?([+-]?(?:0x)?[0-9a-fA-F]*)?\((\w+)\)(?:\((\w+)\*(\d)\))?$`)
	dataLine      = regexp.MustCompile(`DATA (\w+)<>\+(\d+)\(SB\)/(\d), \$(\S+)`)
	textLine      = regexp.MustCompile(`TEXT ·(\w+)\(SB\), .*\$(\d+)-(\d+)`)
)

func readListing(path string) (*listing, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	a := &listing{map[string]*routine{}, map[string][]byte{}}
	var f *routine
	for _, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "GLOBL"):
		case strings.HasPrefix(line, "DATA "):
			x := dataLine.FindStringSubmatch(line)
			a.data[x[1]] = appendConstant(a.data[x[1]], int(parseNumber(x[2])), int(parseNumber(x[3])), x[4])
		case strings.HasPrefix(line, "TEXT"):
			x := textLine.FindStringSubmatch(line)
			f = &routine{labels: map[string]int{}, frame: int(parseNumber(x[2]))}
			a.routines[x[1]] = f
		case strings.HasSuffix(line, ":"):
			f.labels[strings.TrimSuffix(line, ":")] = len(f.code)
		default:
			f.code = append(f.code, parseInstruction(line))
		}
	}
	return a, nil
}

func appendConstant(d []byte, offset, size int, value string) []byte {
	for len(d) < offset+size {
		d = append(d, 0)
	}
	bits := uint64(0)
	if value[0] == '(' {
		x, _ := strconv.ParseFloat(strings.Trim(value, "()"), 32)
		bits = uint64(math.Float32bits(float32(x)))
	} else {
		bits = uint64(parseNumber(value))
	}
	for i := range size {
		d[offset+i] = byte(bits >> (8 * i))
	}
	return d
}

func parseInstruction(line string) instruction {
	op, rest, _ := strings.Cut(line, " ")
	parts := strings.Split(op, ".")
	i := instruction{op: parts[0]}
	for _, suffix := range parts[1:] {
		i.broadcast = i.broadcast || suffix == "BCST"
		i.zeroing = i.zeroing || suffix == "Z"
	}
	for a := range strings.SplitSeq(rest, ",") {
		if a = strings.TrimSpace(a); a != "" {
			i.args = append(i.args, a)
		}
	}
	return i
}

func parseNumber(s string) int64 {
	if s == "" || s == "+" {
		return 0
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return int64(n)
}

// machine runs one routine.
type machine struct {
	*listing
	general  map[string]uint64
	vectors  [32]vector
	masks    [8]uint64
	args     []byte
	frame    []byte
	a, b     int64 // last comparison: of a with b
	carry    bool
	operands [][]byte
}

// operand is the address of memory that the routine may use.
func (m *machine) operand(b []byte) uint64 {
	m.operands = append(m.operands, b)
	return uint64(len(m.operands)) << 40
}

func floatBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// The frame is at this address.
const frameAt = 1 << 60

// at is n bytes of memory.
func (m *machine) at(address uint64, n int) []byte {
	if address >= frameAt {
		return m.frame[address-frameAt:][:n]
	}
	place, offset := address>>40, address&(1<<40-1)
	if place == 0 || place > uint64(len(m.operands)) || offset+uint64(n) > uint64(len(m.operands[place-1])) {
		panic(fmt.Sprintf("%d bytes at %x are outside the operands", n, address))
	}
	return m.operands[place-1][offset:][:n]
}

// address is that of a memory operand without a symbol.
func (m *machine) address(s string) uint64 {
	x := memoryOperand.FindStringSubmatch(s)
	if x == nil {
		panic("not a memory operand: " + s)
	}
	base := uint64(frameAt)
	if x[3] != "SP" {
		base = m.general[x[3]]
	}
	if x[4] != "" {
		base += m.general[x[4]] * uint64(parseNumber(x[5]))
	}
	return base + uint64(parseNumber(x[2]))
}

// memory is n bytes of any memory operand.
func (m *machine) memory(s string, n int) []byte {
	if before, ok := strings.CutSuffix(s, "(FP)"); ok {
		return m.args[parseNumber(before[strings.LastIndex(before, "+")+1:]):][:n]
	}
	if x := memoryOperand.FindStringSubmatch(s); x != nil && x[3] == "SB" {
		return m.data[x[1]][parseNumber(x[2]):][:n]
	}
	return m.at(m.address(s), n)
}

func isVector(s string) bool {
	return len(s) > 1 && strings.Contains("XYZ", s[:1]) && s[1] >= '0' && s[1] <= '9'
}

func (m *machine) vector(s string) *vector { return &m.vectors[parseNumber(s[1:])] }

func width(s string) int { return map[byte]int{'X': 16, 'Y': 32, 'Z': 64}[s[0]] }

// load reads n bytes of a register or memory.
func (m *machine) load(s string, n int, broadcast bool) (v vector) {
	switch {
	case isVector(s):
		return *m.vector(s)
	case broadcast:
		for i := range 16 {
			copy(v[4*i:], m.memory(s, 4))
		}
	default:
		copy(v[:], m.memory(s, n))
	}
	return v
}

// set writes a register; the bytes above its width become 0.
func (m *machine) set(s string, v vector) {
	clear(v[width(s):])
	*m.vector(s) = v
}

func bitsOf(v *vector, i int) uint32       { return binary.LittleEndian.Uint32(v[4*i:]) }
func setBits(v *vector, i int, x uint32)   { binary.LittleEndian.PutUint32(v[4*i:], x) }
func floatOf(v *vector, i int) float32     { return math.Float32frombits(bitsOf(v, i)) }
func setFloat(v *vector, i int, x float32) { setBits(v, i, math.Float32bits(x)) }
func halfOf(v *vector, i int) uint16       { return binary.LittleEndian.Uint16(v[2*i:]) }

// get reads a general register, a number or 64 bits of memory.
func (m *machine) get(s string) uint64 {
	switch {
	case s[0] == '$':
		return uint64(parseNumber(s[1:]))
	case strings.Contains(s, "("):
		return binary.LittleEndian.Uint64(m.memory(s, 8))
	}
	return m.general[s]
}

func (m *machine) put(s string, x uint64) {
	if strings.Contains(s, "(") {
		binary.LittleEndian.PutUint64(m.memory(s, 8), x)
	} else {
		m.general[s] = x
	}
}

// call runs a routine; arguments take 8 bytes each.
func (m *machine) call(name string, args ...uint64) {
	f := m.routines[name]
	m.general, m.args, m.frame = map[string]uint64{}, make([]byte, 8*len(args)), make([]byte, f.frame)
	for i, a := range args {
		binary.LittleEndian.PutUint64(m.args[8*i:], a)
	}
	for at := 0; f.code[at].op != "RET"; at++ {
		if i := f.code[at]; i.op[0] == 'J' {
			if m.jumps(i.op) {
				at = f.labels[i.args[0]] - 1
			}
		} else if !m.scalar(i.op, i.args) {
			m.lanes(i)
		}
	}
}

func (m *machine) jumps(op string) bool {
	switch op {
	case "JMP":
		return true
	case "JEQ", "JZ":
		return m.a == m.b
	case "JNE", "JNZ":
		return m.a != m.b
	case "JLT":
		return m.a < m.b
	case "JGE":
		return m.a >= m.b
	case "JCC":
		return !m.carry
	}
	panic("unknown jump " + op)
}

// scalar runs an instruction of general registers; it returns false for another one.
func (m *machine) scalar(op string, a []string) bool {
	// result compares what an instruction wrote with 0.
	result := func(to string, x uint64) {
		m.put(to, x)
		m.a, m.b = int64(x), 0
	}
	switch op {
	case "PREFETCHT0", "PREFETCHT1", "VZEROUPPER":
	case "MOVQ":
		m.put(a[1], m.get(a[0]))
	case "MOVL":
		m.put(a[1], m.get(a[0])&math.MaxUint32)
	case "LEAQ":
		m.put(a[1], m.address(a[0]))
	case "ADDQ":
		result(a[1], m.get(a[1])+m.get(a[0]))
	case "SUBQ":
		x, y := m.get(a[1]), m.get(a[0])
		m.put(a[1], x-y)
		m.a, m.b = int64(x), int64(y)
	case "ANDQ":
		result(a[1], m.get(a[1])&m.get(a[0]))
	case "XORQ":
		result(a[1], m.get(a[1])^m.get(a[0]))
	case "DECQ":
		result(a[0], m.get(a[0])-1)
	case "SHLQ":
		m.put(a[1], m.get(a[1])<<m.get(a[0]))
	case "IMULQ":
		m.put(a[1], m.get(a[1])*m.get(a[0]))
	case "IMUL3Q":
		m.put(a[2], m.get(a[1])*m.get(a[0]))
	case "CMPQ":
		m.a, m.b = int64(m.get(a[0])), int64(m.get(a[1]))
	case "TESTQ":
		m.a, m.b = int64(m.get(a[0])&m.get(a[1])), 0
	case "BTQ":
		m.carry = m.get(a[1])>>m.get(a[0])&1 == 1
	case "CMOVQGT":
		if m.a > m.b {
			m.put(a[1], m.get(a[0]))
		}
	case "KMOVW":
		m.masks[parseNumber(a[1][1:])] = m.get(a[0]) & math.MaxUint16
	default:
		return false
	}
	return true
}

// lanes runs an instruction of vectors. Operands are in the order of Go's assembler,
// the destination last.
func (m *machine) lanes(i instruction) {
	a := i.args
	d := a[len(a)-1]
	three := func(do func(x, y, z *vector, i int, out *vector)) { // x, y, dst lane by lane
		n := width(d)
		x, y, z := m.load(a[0], n, i.broadcast), m.load(a[1], n, false), *m.vector(d)
		out := z
		for l := range n / 4 {
			do(&x, &y, &z, l, &out)
		}
		m.set(d, out)
	}
	two := func(srcBytes int, do func(x *vector, i int, out *vector)) {
		x := m.load(a[len(a)-2], srcBytes, i.broadcast)
		var out vector
		for l := range width(d) / 4 {
			do(&x, l, &out)
		}
		m.set(d, out)
	}
	switch i.op {
	case "VMOVUPS", "VMOVDQU64", "VMOVDQA64", "VMOVDQU32", "VMOVAPS", "VMOVDQU", "VMOVDQA":
		if i.zeroing {
			from, mask := m.address(a[0]), m.masks[parseNumber(a[1][1:])]
			var out vector
			for l := range 16 {
				if mask>>l&1 == 1 {
					copy(out[4*l:], m.at(from+uint64(4*l), 4))
				}
			}
			m.set(d, out)
			return
		}
		if isVector(d) {
			m.set(d, m.load(a[0], width(d), false))
			return
		}
		v := m.vector(a[0])
		copy(m.memory(d, width(a[0])), v[:])
	case "VBROADCASTSS", "VPBROADCASTD":
		var b [4]byte
		if isVector(a[0]) {
			copy(b[:], m.vector(a[0])[:4])
		} else {
			copy(b[:], m.memory(a[0], 4))
		}
		var out vector
		for l := range 16 {
			copy(out[4*l:], b[:])
		}
		m.set(d, out)
	case "VMOVD":
		var out vector
		setBits(&out, 0, uint32(m.get(a[0])))
		m.set(d, out)
	case "VFMADD231PS":
		three(func(x, y, z *vector, l int, out *vector) {
			setFloat(out, l, kerneltest.FMA32(floatOf(y, l), floatOf(x, l), floatOf(z, l)))
		})
	case "VFMADD213PS":
		three(func(x, y, z *vector, l int, out *vector) {
			setFloat(out, l, kerneltest.FMA32(floatOf(y, l), floatOf(z, l), floatOf(x, l)))
		})
	case "VMULPS":
		three(func(x, y, z *vector, l int, out *vector) { setFloat(out, l, floatOf(x, l)*floatOf(y, l)) })
	case "VADDPS":
		three(func(x, y, z *vector, l int, out *vector) { setFloat(out, l, floatOf(x, l)+floatOf(y, l)) })
	case "VPXORD", "VXORPS":
		three(func(x, y, z *vector, l int, out *vector) { setBits(out, l, bitsOf(x, l)^bitsOf(y, l)) })
	case "VPANDD":
		three(func(x, y, z *vector, l int, out *vector) { setBits(out, l, bitsOf(x, l)&bitsOf(y, l)) })
	case "VPORD":
		three(func(x, y, z *vector, l int, out *vector) { setBits(out, l, bitsOf(x, l)|bitsOf(y, l)) })
	case "VPADDD":
		three(func(x, y, z *vector, l int, out *vector) { setBits(out, l, bitsOf(x, l)+bitsOf(y, l)) })
	case "VPSUBD":
		three(func(x, y, z *vector, l int, out *vector) { setBits(out, l, bitsOf(y, l)-bitsOf(x, l)) })
	case "VPDPBUSD":
		three(func(x, y, z *vector, l int, out *vector) {
			s := bitsOf(z, l)
			for k := range 4 {
				s += uint32(int32(int8(x[4*l+k])) * int32(y[4*l+k]))
			}
			setBits(out, l, s)
		})
	case "VPTERNLOGD":
		imm := parseNumber(a[0][1:])
		c, b, dst := m.load(a[1], 64, i.broadcast), m.load(a[2], 64, false), *m.vector(d)
		var out vector
		for k := range 512 {
			bit := func(v *vector) int64 { return int64(v[k/8] >> (k % 8) & 1) }
			out[k/8] |= byte(imm>>(bit(&dst)<<2|bit(&b)<<1|bit(&c))&1) << (k % 8)
		}
		m.set(d, out)
	case "VPSRLD":
		two(64, func(x *vector, l int, out *vector) { setBits(out, l, bitsOf(x, l)>>parseNumber(a[0][1:])) })
	case "VPSLLD":
		two(64, func(x *vector, l int, out *vector) { setBits(out, l, bitsOf(x, l)<<parseNumber(a[0][1:])) })
	case "VPSRAD":
		two(64, func(x *vector, l int, out *vector) {
			setBits(out, l, uint32(int32(bitsOf(x, l))>>parseNumber(a[0][1:])))
		})
	case "VPSRLW", "VPSLLW":
		two(64, func(x *vector, l int, out *vector) {
			for k := 2 * l; k < 2*l+2; k++ {
				h := halfOf(x, k) >> parseNumber(a[0][1:])
				if i.op == "VPSLLW" {
					h = halfOf(x, k) << parseNumber(a[0][1:])
				}
				binary.LittleEndian.PutUint16(out[2*k:], h)
			}
		})
	case "VCVTDQ2PS":
		two(64, func(x *vector, l int, out *vector) { setFloat(out, l, float32(int32(bitsOf(x, l)))) })
	case "VCVTPH2PS":
		two(width(d)/2, func(x *vector, l int, out *vector) { setFloat(out, l, gpu.FromF16(halfOf(x, l))) })
	case "VPMOVZXWD":
		two(width(d)/2, func(x *vector, l int, out *vector) { setBits(out, l, uint32(halfOf(x, l))) })
	case "VPMOVZXBD":
		two(width(d)/4, func(x *vector, l int, out *vector) { setBits(out, l, uint32(x[l])) })
	case "VPMOVSXBD":
		two(width(d)/4, func(x *vector, l int, out *vector) { setBits(out, l, uint32(int32(int8(x[l])))) })
	default:
		panic(fmt.Sprint("unknown instruction ", i.op, a))
	}
}
