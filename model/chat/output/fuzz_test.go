package output

import (
	"reflect"
	"testing"
)

// FuzzParser reads any text with any format: it ends without a panic, and the parts do not depend
// on where the text is cut.
func FuzzParser(f *testing.F) {
	for i := range catalogue {
		for _, text := range pieces(&catalogue[i]) {
			f.Add(uint8(i), uint8(3), uint16(1), text+text)
		}
	}
	f.Fuzz(func(t *testing.T, format, flags uint8, at uint16, text string) {
		form := catalogue[int(format)%len(catalogue)]
		if form.Messages == nil {
			form.Reasoning = append(pairs, form.Reasoning)[int(flags>>4)%(len(pairs)+1)]
		}
		o := Options{AnyName: flags&1 > 0, Tools: ownTools, Hold: flags&2 > 0, KeepReasoning: flags&4 > 0}
		end := flags&8 > 0
		want := Read(&form, o, text, end)
		cut := int(at) % (len(text) + 1)
		if got := readCut(&form, o, end, text[:cut], text[cut:]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %q cut at %d:\n got %+v\nwant %+v", form.Name, text, cut, got, want)
		}
	})
}
