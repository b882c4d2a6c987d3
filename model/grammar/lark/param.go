package lark

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// maxInstances bounds how many values parametric rules may be read with.
const maxInstances = 5_000

// instance is a parametric rule with a value, to be read later.
type instance struct {
	head  *head
	value uint64
}

func (i instance) name() string { return fmt.Sprintf("%s::%d", i.head.name, i.value) }

// parametric reads the value behind name::, and refers to that instance.
func (p *parser) parametric(name string, at int) (rules.Expr, error) {
	h := p.heads[name]
	switch {
	case p.now.terminal:
		return nil, p.fail(at, "parametric rules cannot be used in terminals")
	case h == nil:
		return nil, p.fail(at, "unknown name %q", name)
	case !h.parametric:
		return nil, p.fail(at, "the rule %q takes no parameter", name)
	}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	i := instance{h, value}
	if !p.instances[i.name()] {
		if len(p.instances) >= maxInstances {
			return nil, p.fail(at, "parametric rules have more than %d values", maxInstances)
		}
		p.instances[i.name()] = true
		p.pending = append(p.pending, i)
	}
	return rules.Ref{Name: i.name(), At: at}, nil
}

// instantiate reads the instances that are referred to, and those that these
// refer to.
func (p *parser) instantiate() error {
	for _, h := range p.order {
		if h.parametric {
			// Read once to check it, even if nothing refers to it.
			copied := *h
			p.pos, p.now = h.body, &copied
			before := len(p.pending)
			if _, err := p.alternatives(); err != nil {
				return err
			}
			if err := p.atEnd(); err != nil {
				return err
			}
			if !copied.usesParam {
				return p.fail(h.at, "the rule %q is parametric, but does not use its parameter", h.name)
			}
			p.forget(before)
		}
	}
	for len(p.pending) > 0 {
		i := p.pending[0]
		p.pending = p.pending[1:]
		h := *i.head
		h.value = i.value
		if err := p.define(&h, i.name()); err != nil {
			return err
		}
	}
	return nil
}

// forget takes back the instances that were asked for since before.
func (p *parser) forget(before int) {
	for _, i := range p.pending[before:] {
		delete(p.instances, i.name())
	}
	p.pending = p.pending[:before]
}

// param is the value of the rule that is being read.
func (p *parser) param(at int) (uint64, error) {
	if !p.now.parametric {
		return 0, p.fail(at, "the rule %q takes no parameter, but its body needs one", p.now.name)
	}
	p.now.usesParam = true
	return p.now.value, nil
}

// value reads a number, _, or a function of _.
func (p *parser) value() (uint64, error) {
	at := p.pos
	name := p.name()
	if name == "_" {
		return p.param(at)
	}
	if n, err := strconv.ParseUint(name, 0, 64); err == nil {
		return n, nil
	}
	v, err := p.param(at)
	if err != nil {
		return 0, err
	}
	args, err := p.call(name, at)
	if err != nil {
		return 0, err
	}
	two := len(args) == 2
	one := len(args) == 1
	switch {
	case name == "set_bit" && one && args[0] < 64:
		return v | 1<<args[0], nil
	case name == "clear_bit" && one && args[0] < 64:
		return v &^ (1 << args[0]), nil
	case name == "incr" && one:
		return args[0] + 1, nil
	case name == "decr" && one:
		return args[0] - 1, nil
	case name == "bit_and" && two:
		return args[0] & args[1], nil
	case name == "bit_or" && two:
		return args[0] | args[1], nil
	case name == "bit_xor" && two:
		return args[0] ^ args[1], nil
	case name == "bit_not" && one:
		return ^args[0], nil
	}
	return 0, p.fail(at, "unknown function %q, or the wrong arguments", name)
}

// call reads the arguments of a function: numbers, _, bit ranges, values.
func (p *parser) call(name string, at int) ([]uint64, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(at, "calls nest too deep")
	}
	defer func() { p.depth-- }()
	if !p.accept("(") {
		return nil, p.fail(at, "expected a number, _ or a function instead of %q", name)
	}
	var args []uint64
	for {
		p.blank()
		v, err := p.argument()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if p.blank(); p.accept(")") {
			return args, nil
		}
		if !p.accept(",") {
			return nil, p.fail(p.pos, "expected , or )")
		}
	}
}

// argument reads _, [lo:hi] (those bits of the parameter), a number or a value.
func (p *parser) argument() (uint64, error) {
	if p.next("[") {
		v, _, err := p.bitRange()
		return v, err
	}
	return p.value()
}

// bitRange reads [lo:hi], the bits lo to hi-1 of the parameter.
func (p *parser) bitRange() (v uint64, width int, err error) {
	at := p.pos
	p.pos++
	lo, ok := p.number()
	colon := p.accept(":")
	hi, ok2 := p.number()
	if !ok || !colon || !ok2 || !p.accept("]") {
		return 0, 0, p.fail(at, "expected [first:last]")
	}
	if hi > 64 || lo >= hi {
		return 0, 0, p.fail(at, "the bits must be between 0 and 64, in order")
	}
	if v, err = p.param(at); err != nil {
		return 0, 0, err
	}
	return v << (64 - hi) >> (64 - hi + lo), hi - lo, nil
}

// condition reads what follows %if, and says whether it holds.
func (p *parser) condition() (bool, error) {
	p.blank()
	at := p.pos
	if p.depth++; p.depth > maxDepth {
		return false, p.fail(at, "conditions nest too deep")
	}
	defer func() { p.depth-- }()
	name := p.name()
	if name == "true" {
		return true, nil
	}
	if !p.accept("(") {
		return false, p.fail(at, "expected a condition such as lt(_, 6)")
	}
	var holds bool
	var err error
	switch name {
	case "and", "or":
		holds = name == "and"
		for {
			c, err := p.condition()
			if err != nil {
				return false, err
			}
			holds = name == "and" && holds && c || name == "or" && (holds || c)
			if p.blank(); !p.accept(",") {
				break
			}
		}
	case "not":
		holds, err = p.condition()
		holds = !holds
	default:
		holds, err = p.comparison(name, at)
	}
	if err != nil {
		return false, err
	}
	if p.blank(); !p.accept(")") {
		return false, p.fail(p.pos, "expected )")
	}
	return holds, nil
}

func (p *parser) comparison(name string, at int) (bool, error) {
	if name == "bit_clear" || name == "bit_set" {
		v, err := p.param(at)
		k, ok := p.number()
		if err == nil && (!ok || k >= 64) {
			err = p.fail(at, "%s needs a bit from 0 to 63", name)
		}
		return v>>k&1 == 1 == (name == "bit_set"), err
	}
	// The first operand is the parameter or some of its bits.
	p.blank()
	v, width := uint64(0), 64
	var err error
	if p.next("[") {
		v, width, err = p.bitRange()
	} else if start := p.pos; p.name() == "_" {
		v, err = p.param(start)
	} else {
		err = p.fail(start, "expected _ or [first:last]")
	}
	if err != nil {
		return false, err
	}
	switch name {
	case "is_ones":
		return bits.OnesCount64(v) == width, nil
	case "is_zeros":
		return v == 0, nil
	}
	op := name
	if len(name) > 10 && name[:10] == "bit_count_" {
		v, op = uint64(bits.OnesCount64(v)), name[10:]
	}
	if p.blank(); !p.accept(",") {
		return false, p.fail(at, "unknown condition %q, or the wrong arguments", name)
	}
	p.blank()
	w, err := strconv.ParseUint(p.name(), 0, 64)
	if err != nil {
		return false, p.fail(at, "%s needs a number", name)
	}
	switch op {
	case "lt":
		return v < w, nil
	case "le":
		return v <= w, nil
	case "gt":
		return v > w, nil
	case "ge":
		return v >= w, nil
	case "eq":
		return v == w, nil
	case "ne":
		return v != w, nil
	}
	return false, p.fail(at, "unknown condition %q", name)
}
