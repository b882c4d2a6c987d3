package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Keys is a configuration from a file of another format, which has its own names of keys.
type Keys struct {
	Where string // the file's name, for errors
	// Values by the keys of config.json; those of a nested object as
	// "rope_scaling.factor". Missing keys are absent from the file.
	Values map[string]any
	// Generation has values by the keys of generation_config.json.
	Generation map[string]any
	// Names are the file's names of the keys, for errors.
	Names map[string]string
}

// FromKeys is Load for another format, with the same checks, defaults and refusals.
func FromKeys(k Keys, o Options) (*Config, error) {
	f, err := k.fields(k.Values)
	if err != nil {
		return nil, err
	}
	c, err := parse(f, o)
	if err != nil {
		return nil, err
	}
	if f, err = k.fields(k.Generation); err != nil {
		return nil, err
	}
	return c, c.applyGeneration(f)
}

func (k Keys) fields(values map[string]any) (fields, error) {
	flat, nested := map[string]any{}, map[string]map[string]any{}
	for key, v := range values {
		outer, inner, deep := strings.Cut(key, ".")
		if !deep {
			flat[key] = v
			continue
		}
		if nested[outer] == nil {
			nested[outer] = map[string]any{}
			flat[outer] = nested[outer]
		}
		nested[outer][inner] = v
	}
	text, err := json.Marshal(flat)
	if err != nil {
		return fields{}, fmt.Errorf("%s: %w", k.Where, err)
	}
	f, err := parseFields(k.Where, text)
	f.names = k.Names
	return f, err
}
