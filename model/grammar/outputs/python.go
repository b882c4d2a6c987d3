package outputs

import (
	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
)

// python is arguments as those of a call in Python, with the bracket that ends them.
func (c *compiler) python(t *tool) (part, error) {
	space := c.term(c.space)
	write := func(m jsonschema.Member) []cfg.Symbol {
		key, ok := c.key(m, "name", ":")
		if !ok {
			return nil
		}
		return c.flat(key, space, c.literal("="), space, c.sym(m.Value()))
	}
	o := c.schemaOptions(t)
	o.Python = true
	comma := c.symbol(c.seq(space, c.literal(","), space))
	members, none, omissions, err := jsonschema.CompileMembers(c.b, t.schema(), jsonschema.Members{Separator: comma, Write: write}, o)
	if err != nil {
		return nothing, c.aboutSchema(t, err)
	}
	c.leaveOut(t, omissions)
	list := c.sym(members)
	if none {
		list = c.optional(list)
	}
	return c.seq(list, space, c.literal(")")), nil
}
