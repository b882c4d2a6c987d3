package chat

import (
	"fmt"
	"strings"
	"time"
)

// strftimeLayouts maps directives of C's strftime to Go layouts.
var strftimeLayouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'd': "02", 'm': "01", 'y': "06",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'e': "_2", 'Y': "2006",
	'D': "01/02/06", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'r': "03:04:05 PM",
	'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'z': "-0700", 'Z': "MST",
}

// strftime formats as C does in the C locale; "-" drops the padding. Unknown
// directives stay as they are.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		text, ok := directive(t, format[i])
		if !ok {
			text = "%" + format[i:i+1]
		}
		if bare {
			if text = strings.TrimLeft(text, "0 "); text == "" {
				text = "0"
			}
		}
		b.WriteString(text)
	}
	return b.String()
}

func directive(t time.Time, c byte) (string, bool) {
	if l, ok := strftimeLayouts[c]; ok {
		return t.Format(l), true
	}
	monday := (int(t.Weekday()) + 6) % 7 // 0 = Monday
	year, week := t.ISOWeek()
	switch c {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'u':
		return fmt.Sprint(monday + 1), true
	case 'w':
		return fmt.Sprint(int(t.Weekday())), true
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7), true
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-monday)/7), true
	case 'V':
		return fmt.Sprintf("%02d", week), true
	case 'G':
		return fmt.Sprint(year), true
	}
	return "", false
}
