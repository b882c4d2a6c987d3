package jsonschema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// draft is a version of JSON Schema, in order of time.
type draft uint8

const (
	draft4 draft = iota
	draft6
	draft7
	draft2019
	draft2020
)

// draftOf maps an identifier of a meta schema to its draft.
func draftOf(schema string) (draft, bool) {
	schema = strings.TrimSuffix(strings.TrimSuffix(schema, "#"), "/")
	schema = strings.TrimPrefix(strings.TrimPrefix(schema, "https://"), "http://")
	switch schema {
	case "json-schema.org/draft-04/schema", "json-schema.org/draft-03/schema":
		return draft4, true
	case "json-schema.org/draft-06/schema":
		return draft6, true
	case "json-schema.org/draft-07/schema":
		return draft7, true
	case "json-schema.org/draft/2019-09/schema":
		return draft2019, true
	case "json-schema.org/draft/2020-12/schema":
		return draft2020, true
	}
	return 0, false
}

// resource is a schema with an address of its own, and what is in it up to the
// next resource.
type resource struct {
	base    string // absolute or empty, without fragment
	root    *value
	draft   draft
	anchors map[string]*value
	dynamic map[string]*value // $dynamicAnchor; recursiveAnchor for $recursiveAnchor
}

// recursiveAnchor stands for $recursiveAnchor among the dynamic anchors. No
// anchor is spelled so.
const recursiveAnchor = "#"

// documents is what references can lead to.
type documents struct {
	byAddress map[string]*resource
	byRoot    map[*value]*resource
	address   map[*value]string // of the root of a remote document
	remotes   map[string][]byte
	limits    readLimits
	fallback  draft

	unevaluated bool // a keyword that asks what others looked at is there
	loose       bool // a schema describes objects that may lack a property or have further ones
}

// of returns the resource that v is in.
func (d *documents) of(v *value) *resource {
	for {
		if r := d.byRoot[v]; r != nil {
			return r
		}
		v = v.parent
	}
}

// add takes in a document and every resource in it.
func (d *documents) add(root *value, address string) {
	r := &resource{base: address, root: root, draft: d.fallback, anchors: map[string]*value{}, dynamic: map[string]*value{}}
	d.byRoot[root] = r
	if d.byAddress[address] == nil {
		d.byAddress[address] = r
	}
	d.walk(root, r)
}

// walk visits a schema and those in it, and notes addresses and anchors. Only
// places where a schema is expected count, so an "$id" in an enum is data.
func (d *documents) walk(root *value, of *resource) {
	type visit struct {
		v  *value
		in *resource
	}
	for stack := []visit{{root, of}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		v, r := at.v, at.in
		if v.kind != kindObject {
			continue
		}
		r = d.identify(v, r)
		d.loose = d.loose || loose(v)
		for i, name := range v.names {
			item := v.items[i]
			if name == "unevaluatedItems" || name == "unevaluatedProperties" {
				d.unevaluated = true
			}
			switch holdingOf(name) {
			case holdsSchema:
				stack = append(stack, visit{item, r})
			case holdsList:
				if item.kind == kindArray {
					for _, s := range item.items {
						stack = append(stack, visit{s, r})
					}
				} else if name == "items" {
					stack = append(stack, visit{item, r})
				}
			case holdsMap:
				if item.kind == kindObject {
					for _, s := range item.items {
						stack = append(stack, visit{s, r})
					}
				}
			}
		}
	}
}

// loose reports whether a schema describes objects, and not in the form that
// OpenAI's strict mode asks for.
func loose(v *value) bool {
	properties, t := v.get("properties"), v.get("type")
	objects := t != nil && (t.text == "object" || slices.ContainsFunc(t.items, func(one *value) bool { return one.text == "object" }))
	if properties == nil && !objects {
		return false
	}
	if further := v.get("additionalProperties"); further == nil || further.kind != kindFalse || v.get("patternProperties") != nil {
		return true
	}
	required := map[string]bool{}
	if r := v.get("required"); r != nil {
		for _, item := range r.items {
			required[item.text] = true
		}
	}
	return properties != nil && slices.ContainsFunc(properties.names, func(name string) bool { return !required[name] })
}

// identify reads the identifiers of one schema object.
func (d *documents) identify(v *value, r *resource) *resource {
	version := r.draft
	if s := v.get("$schema"); s != nil && s.kind == kindString {
		if known, ok := draftOf(s.text); ok {
			version = known
		}
	}
	if v == r.root {
		r.draft = version
	}
	if version <= draft7 && v.get("$ref") != nil && v != r.root {
		return r // siblings of $ref are ignored, $id too
	}
	id := v.get("$id")
	if version == draft4 {
		id = v.get("id")
	}
	if id != nil && id.kind == kindString {
		if fragment, ok := strings.CutPrefix(id.text, "#"); ok {
			if version <= draft7 {
				r.anchors[fragment] = v
			}
		} else {
			base, fragment := resolve(r.base, id.text)
			if v != r.root {
				r = &resource{root: v, anchors: map[string]*value{}, dynamic: map[string]*value{}}
				d.byRoot[v] = r
			}
			r.base, r.draft = base, version
			if d.byAddress[base] == nil {
				d.byAddress[base] = r
			}
			if fragment != "" && version <= draft7 {
				r.anchors[fragment] = v
			}
		}
	}
	if a := v.get("$anchor"); a != nil && a.kind == kindString {
		r.anchors[a.text] = v
	}
	if a := v.get("$dynamicAnchor"); a != nil && a.kind == kindString {
		r.anchors[a.text], r.dynamic[a.text] = v, v
	}
	if v == r.root && v.get("$recursiveAnchor").isTrue() {
		r.dynamic[recursiveAnchor] = v
	}
	return r
}

// resolve makes a reference absolute and cuts off its fragment.
func resolve(base, ref string) (address, fragment string) {
	ref, fragment, _ = strings.Cut(ref, "#")
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if ref == "" {
		return base, fragment
	}
	b, err := url.Parse(base)
	if err != nil {
		return ref, fragment
	}
	u, err := b.Parse(ref)
	if err != nil {
		return ref, fragment
	}
	return u.String(), fragment
}

// find returns the schema that ref, read in r, names. The reason says why there
// is none.
func (d *documents) find(r *resource, ref string) (target *value, reason string, err error) {
	address, fragment := resolve(r.base, ref)
	to := r
	if address != r.base {
		if to = d.byAddress[address]; to == nil {
			text, ok := d.remotes[address]
			if !ok {
				return nil, "the schema " + strconv.Quote(address) + " is not part of the request; put it under $defs", nil
			}
			root, err := read(text, d.limits)
			if err != nil {
				return nil, "", err
			}
			d.address[root] = address
			d.add(root, address)
			to = d.byAddress[address]
		}
	}
	switch {
	case fragment == "":
		return to.root, "", nil
	case fragment[0] != '/':
		if v := to.anchors[fragment]; v != nil {
			return v, "", nil
		}
		return nil, "no schema has the anchor " + strconv.Quote(fragment), nil
	}
	v := to.root
	for _, part := range strings.Split(fragment[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := v.get(part)
		if v.kind == kindArray {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(v.items) {
				next = v.items[i]
			}
		}
		if next == nil {
			return nil, "there is nothing at " + strconv.Quote(fragment), nil
		}
		v = next
	}
	return v, "", nil
}

// holding is how a keyword holds schemas.
type holding uint8

const (
	holdsNone holding = iota
	holdsSchema
	holdsList
	holdsMap
)

func holdingOf(keyword string) holding {
	switch keyword {
	case "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "not", "propertyNames",
		"then", "unevaluatedItems", "unevaluatedProperties":
		return holdsSchema
	case "allOf", "anyOf", "items", "oneOf", "prefixItems":
		return holdsList
	case "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties":
		return holdsMap
	}
	return holdsNone
}
