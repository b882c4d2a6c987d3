package earley

// What is known of the only byte of a configuration; else it is the byte plus sure.
const (
	unknown = iota
	choice
	sure
)

// Only moves on over the only byte that may follow. ok is false if there is a choice: another
// byte or a special token may come, or the text may end. The error is that of Next.
func (a *Automaton) Only(c *Config) (by byte, next *Config, ok bool, err error) {
	n := c.only.Load()
	if n == unknown {
		if n, err = a.findOnly(c); err != nil {
			return 0, nil, false, err
		}
		c.only.Store(n)
	}
	if n == choice {
		return 0, nil, false, nil
	}
	next, _ = c.Known(byte(n - sure))
	return byte(n - sure), next, true, nil
}

func (a *Automaton) findOnly(c *Config) (int32, error) {
	found := int32(choice)
	if c.accept || len(c.tokens) > 0 {
		return choice, nil
	}
	for k, by := range c.reps {
		next, err := a.Next(c, by)
		if err != nil {
			return unknown, err
		}
		if next == nil {
			continue
		}
		if found != choice || c.classSize(uint8(k)) > 1 {
			return choice, nil
		}
		found = int32(by) + sure
	}
	return found, nil
}

// classSize returns how many bytes are in a class.
func (c *Config) classSize(class uint8) int {
	n := 0
	for _, k := range c.class {
		if k == class {
			n++
		}
	}
	return n
}
