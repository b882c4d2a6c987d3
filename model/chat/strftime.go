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
		text := "%" + format[i:i+1]
		if layout, ok := strftimeLayouts[format[i]]; ok {
			text = t.Format(layout)
		} else if number, ok := strftimeNumbers[format[i]]; ok {
			text = number(t)
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

// strftimeNumbers are the directives without a Go layout.
var strftimeNumbers = map[byte]func(t time.Time) string{
	'%': func(time.Time) string { return "%" },
	'n': func(time.Time) string { return "\n" },
	't': func(time.Time) string { return "\t" },
	'f': func(t time.Time) string { return fmt.Sprintf("%06d", t.Nanosecond()/1000) },
	's': func(t time.Time) string { return fmt.Sprint(t.Unix()) },
	'k': func(t time.Time) string { return fmt.Sprintf("%2d", t.Hour()) },
	'l': func(t time.Time) string { return fmt.Sprintf("%2d", (t.Hour()+11)%12+1) },
	'C': func(t time.Time) string { return fmt.Sprintf("%02d", t.Year()/100) },
	'u': func(t time.Time) string { return fmt.Sprint(sinceMonday(t) + 1) },
	'w': func(t time.Time) string { return fmt.Sprint(int(t.Weekday())) },
	'U': func(t time.Time) string { return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7) },
	'W': func(t time.Time) string { return fmt.Sprintf("%02d", (t.YearDay()+6-sinceMonday(t))/7) },
	'V': func(t time.Time) string { _, week := t.ISOWeek(); return fmt.Sprintf("%02d", week) },
	'G': func(t time.Time) string { year, _ := t.ISOWeek(); return fmt.Sprint(year) },
}

// sinceMonday is the number of days since Monday.
func sinceMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }
