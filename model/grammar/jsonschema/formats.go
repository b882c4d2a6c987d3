package jsonschema

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// formatPatterns are the formats that one pattern tells exactly. A format that
// is in no table of this file is an annotation, as JSON Schema has it.
var formatPatterns = map[string]string{
	"date":                  `^` + datePattern + `$`,
	"duration":              `^P(\d+W|(\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D)(` + timePattern + `)?|` + timePattern + `)$`,
	"ipv4":                  `^` + ipv4 + `$`,
	"ipv6":                  `^` + ipv6 + `$`,
	"json-pointer":          `^(/([^~/]|~[01])*)*$`,
	"relative-json-pointer": `^(0|[1-9]\d*)(#|(/([^~/]|~[01])*)*)$`,
	"uuid":                  `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`,
	"uri":                   `^` + uriPattern("", "") + `$`,
	"uri-reference":         `^(` + uriPattern("", "") + `|` + relativePattern("", "") + `)$`,
	"iri":                   `^` + uriPattern(ucsChars, privateChars) + `$`,
	"iri-reference":         `^(` + uriPattern(ucsChars, privateChars) + `|` + relativePattern(ucsChars, privateChars) + `)$`,
	"uri-template":          `^([^\x00-\x20"<>\\^` + "`" + `{|}%\x7f-\x9f]|%[0-9a-fA-F]{2}|\{[+#./;?&=,!@|]?` + varSpec + `(,` + varSpec + `)*\})*$`,
}

// refusedFormats are known, but no term tells them exactly.
var refusedFormats = map[string]string{
	"idn-email":    "the host names in it follow tables of characters that are not built in",
	"idn-hostname": "internationalised host names follow tables of characters that are not built in",
	"regex":        "regular expressions are not a regular language",
}

const (
	timePattern = `T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S)`
	datePattern = `(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))` +
		`|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`
	byteDecimal  = `(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	ipv4         = `(` + byteDecimal + `\.){3}` + byteDecimal
	varSpec      = `([0-9A-Za-z_]|%[0-9a-fA-F]{2})(\.?([0-9A-Za-z_]|%[0-9a-fA-F]{2}))*(:[1-9]\d{0,3}|\*)?`
	ucsChars     = `\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\u{10000}-\u{1fffd}\u{20000}-\u{2fffd}\u{30000}-\u{3fffd}\u{e1000}-\u{efffd}`
	privateChars = `\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}`
)

// label is a part of a host name. Those that begin with two characters and two
// hyphens are left out: "xn--" says that a label is coded, and whether the code
// is right cannot be told by a term. That is not a complement, as it takes long
// to find out that nothing can follow "ns--".
const (
	label = alnum + `(` + alnum + `|` + inner + alnum + `|` + inner + inner + alnum + `|` + inner + `(` + alnum + inner + `|-` + alnum + `)` + inner + `{0,58}` + alnum + `)?`
	alnum = `[0-9A-Za-z]`
	inner = `[0-9A-Za-z-]`
)

var ipv6 = ipv6Pattern()

// ipv6Pattern lists the forms of RFC 3986: how many groups stand before "::".
func ipv6Pattern() string {
	const group = `[0-9a-fA-F]{1,4}`
	low := `(` + group + `:` + group + `|` + ipv4 + `)`
	forms := []string{`(` + group + `:){6}` + low, `::(` + group + `:){5}` + low}
	for i := range 7 {
		before := fmt.Sprintf(`((%s:){0,%d}%s)?::`, group, i, group)
		switch after := 4 - i; {
		case after >= 0:
			forms = append(forms, before+fmt.Sprintf(`(%s:){%d}`, group, after)+low)
		case after == -1:
			forms = append(forms, before+group)
		default:
			forms = append(forms, before)
		}
	}
	return `(` + strings.Join(forms, `|`) + `)`
}

// uriPattern is the rule "URI" of RFC 3986. With characters beyond ASCII, and
// private ones in the query, it is "IRI" of RFC 3987. Of addresses in brackets
// only version 6 is known, and percent signs in host names stand for bytes
// beyond ASCII only: servers refuse the rest.
func uriPattern(ucs, private string) string {
	return `[A-Za-z][A-Za-z0-9+.-]*:(` + hierarchy(ucs) + `|` + pathChar(ucs, ":@") + `+(/` + pathChar(ucs, ":@") + `*)*)?` + ending(ucs, private)
}

// relativePattern is the rule "relative-ref".
func relativePattern(ucs, private string) string {
	return `(` + hierarchy(ucs) + `|` + pathChar(ucs, "@") + `+(/` + pathChar(ucs, ":@") + `*)*)?` + ending(ucs, private)
}

func pathChar(ucs, more string) string {
	return `([A-Za-z0-9._~!$&'()*+,;=` + more + ucs + `-]|%[0-9a-fA-F]{2})`
}

func hierarchy(ucs string) string {
	path := `(/` + pathChar(ucs, ":@") + `*)*`
	name := `([A-Za-z0-9._~!$&'()*+,;=` + ucs + `-]|%[89a-fA-F][0-9a-fA-F])*`
	authority := `(` + pathChar(ucs, ":") + `*@)?(\[` + ipv6 + `\]|` + name + `)(:\d*)?`
	return `(//` + authority + path + `|/(` + pathChar(ucs, ":@") + `+` + path + `)?)`
}

func ending(ucs, private string) string {
	return `(\?` + pathChar(ucs+private, ":@/?") + `*)?(#` + pathChar(ucs, ":@/?") + `*)?`
}

// format returns the texts of a format. known is false where the format is an
// annotation.
func (s *speller) format(name string) (t regex.Term, known bool, err error) {
	if reason, ok := refusedFormats[name]; ok {
		return regex.Nothing, true, fmt.Errorf("%s", reason)
	}
	if p, ok := formatPatterns[name]; ok {
		t, err = s.pattern(p)
		return t, true, err
	}
	switch name {
	case "time":
		t = s.clock()
	case "date-time":
		t = s.set.Concat(s.must(`^`+datePattern+`[Tt]$`), s.clock())
	case "hostname":
		t = s.hostname()
	case "email":
		t = s.email()
	default:
		return s.free, false, nil
	}
	return t, true, nil
}

// must is pattern for the patterns of this file, which a test reads.
func (s *speller) must(pattern string) regex.Term {
	t, err := s.pattern(pattern)
	if err != nil {
		panic(fmt.Sprintf("pattern %q of a format: %v", pattern, err))
	}
	return t
}

// clock is the rule full-time of RFC 3339. Second 60 stands where the time in
// UTC is 23:59 only.
func (s *speller) clock() regex.Term {
	t := s.must(`^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	leap := s.must(`^23:59:60(\.\d+)?[Zz]$`)
	hours, minutes := regex.Nothing, regex.Nothing
	for h := range 24 {
		// East of UTC the clock is ahead, so with odd minutes it has passed midnight.
		hours = s.set.Or(hours, s.must(fmt.Sprintf(`^(%02d:..:60(\.\d+)?\+%02d:00|%02d:..:60(\.\d+)?\+%02d:(?!00)..|%02d:..:60(\.\d+)?-%02d:..)$`,
			(23+h)%24, h, h, h, 23-h, h)))
	}
	for m := range 60 {
		minutes = s.set.Or(minutes, s.must(fmt.Sprintf(`^..:(%02d:60(\.\d+)?\+..:%02d|%02d:60(\.\d+)?-..:%02d)$`, (59+m)%60, m, 59-m, m)))
	}
	return s.set.Or(t, leap, s.set.And(hours, minutes))
}

// hostname is RFC 1123.
func (s *speller) hostname() regex.Term {
	return s.set.And(s.must(`^`+label+`(\.`+label+`)*$`), s.must(`^.{1,253}$`))
}

// email is a mailbox of RFC 5321 with local parts of at most 64 characters and
// no escapes in quoted ones.
func (s *speller) email() regex.Term {
	atom := "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	local := s.set.And(s.must(`^(`+atom+`(\.`+atom+`)*|"[ !#-\[\]-~]*")$`), s.must(`^[^]{1,64}$`))
	domain := s.set.Or(s.hostname(), s.must(`^\[(`+ipv4+`|IPv6:`+ipv6+`)\]$`))
	return s.set.And(s.set.Concat(local, s.literal("@"), domain), s.must(`^.{1,254}$`))
}
