"""Question-answer exchanges about simple facts; each function returns (user, assistant)."""
import facts as f
from grammar import is_held, tidy

TAIL = ["", "", "", "", "", "", "[ Do you like {animal}s?| Is there more?]", " Ask me another one!", " I am quite sure about that.", " That was an easy question."]
START = ["", "", "", "", "", "", "Yes! ", "I know that! ", "Easy. ", "Let me think. "]


def answer(g, questions, answers, bind, plain=False):
    bind = {"a": "a", **bind}
    q = g.say(questions, dict(bind))
    a = g.fill(g.pick(answers), dict(bind))
    if not plain and g.chance(0.3):
        a = g.pick(START) + a + g.fill(g.pick(TAIL))
    return q, tidy(a)


def capital(g):
    c, k = g.pick(f.CAPITALS)
    if not g.held and g.chance(0.06):
        c, k = f.CAPITALS[0]
    return answer(g, ["What is the capital of {c}?", "What is the capital city of {c}?", "Tell me the capital of {c}.", "Which city is the capital of {c}?", "Do you know the capital of {c}?", "Capital of {c}?", "{c}: what is the capital?"],
                  ["The capital of {c} is {k}.", "The capital of {c} is {k}.", "{k} is the capital of {c}.", "It is {k}.", "That is {k}.", "The capital city of {c} is {k}.", "{k}."], {"c": c, "k": k})


def colour(g):
    t, k = g.pick(f.COLOUR_OF)
    return answer(g, ["What colour is {t}?", "What is the colour of {t}?", "Which colour does {t} have?", "Tell me the colour of {t}.", "What color is {t}?", "Do you know what colour {t} is?", "Is {t} {colour}?"],
                  ["{t} is {k}.", "It is {k}.", "The colour of {t} is {k}.", "{t} is usually {k}.", "I think that {t} is {k}.", "Most people would say that {t} is {k}.", "{k}!"], {"t": t, "k": k})


def opposite(g):
    x, y = g.pick(f.OPPOSITES)
    if g.chance(0.5):
        x, y = y, x
    return answer(g, ["What is the opposite of {x}?", "Tell me the opposite of {x}.", "What is the contrary of {x}?", "Opposite of {x}?", "Which word is the opposite of {x}?", "If something is not {x}, what is it?", "What's the opposite of {x}?"],
                  ["The opposite of {x} is {y}.", "It is {y}.", "{y} is the opposite of {x}.", "That would be {y}.", "{x} and {y} are opposites.", "If it is not {x}, it is {y}.", "{y}."], {"x": x, "y": y})


def animal(g):
    kind = g.rng.randrange(5)
    if kind == 0:
        x, y = g.pick(f.SOUNDS)
        return answer(g, ["What does a {x} say?", "What sound does a {x} make?", "How does a {x} sound?", "Which animal says {y}?", "What noise does a {x} make?", "Make a sound like a {x}.", "What do {x}s say?"],
                      ["A {x} says {y}.", "A {x} goes {y}, {y}!", "{y}! That is the {x}.", "The {x} says {y}.", "{y}, {y}, says the {x}.", "Listen: {y}! That was a {x}."], {"x": x, "y": y})
    if kind == 1:
        x, y = g.pick(f.BABIES)
        return answer(g, ["What is a baby {x} called?", "What do you call a baby {x}?", "What is the name of a young {x}?", "How is a baby {x} called?", "A baby {x} is a what?", "What is a {y}?"],
                      ["A baby {x} is called a {y}.", "It is a {y}.", "A young {x} is a {y}.", "A {y} is a baby {x}.", "We call it a {y}.", "The little one of a {x} is called a {y}."], {"x": x, "y": y})
    if kind == 2:
        x, y = g.pick(f.HOMES)
        return answer(g, ["Where does a {x} live?", "What is the home of a {x}?", "Where do {x}s live?", "Where can I find a {x}?", "Where does a {x} sleep?", "What does the home of a {x} look like?"],
                      ["A {x} lives in {y}.", "The home of a {x} is {y}.", "You can find a {x} in {y}.", "It lives in {y}.", "In {y}.", "Look in {y}, and you may find a {x}."], {"x": x, "y": y})
    if kind == 3:
        x, y = g.pick(f.LEGS)
        return answer(g, ["How many legs does a {x} have?", "How many legs has a {x}?", "Count the legs of a {x}.", "Does a {x} have legs?", "Do you know how many legs a {x} has?", "On how many legs does a {x} walk?"],
                      ["A {x} has {y} legs.", "It has {y} legs.", "The {x} has {y} legs.", "A {x} has {y} legs, I think.", "I count {y} legs.", "There are {y} legs on a {x}."], {"x": x, "y": y})
    x, y = g.pick(f.EATS)
    return answer(g, ["What does a {x} eat?", "What do {x}s eat?", "What is the food of a {x}?", "What should I give a {x} to eat?", "What does a {x} like to eat?", "Tell me what a {x} eats."],
                  ["A {x} eats {y}.", "A {x} likes {y}.", "The {x} eats {y}.", "It eats {y}.", "Give it {y}.", "Mostly {y}."], {"x": x, "y": y})


def world(g):
    kind = g.rng.randrange(4)
    if kind == 0:
        x, y = g.pick(f.JOBS)
        return answer(g, ["What does a {x} do?", "What is a {x}?", "What is the job of a {x}?", "Who {y}?", "Tell me what a {x} does.", "What does a {x} do all day?"],
                      ["A {x} {y}.", "A {x} is someone who {y}.", "The {x} {y}.", "It is a person who {y}.", "I think a {x} {y}.", "All day long a {x} {y}."], {"x": x, "y": y})
    if kind == 1:
        x, y = g.pick(f.USES)
        return answer(g, ["What is {x} for?", "What do you use {x} for?", "What can I do with {x}?", "Why do people need {x}?", "What do I need to {y}?", "Explain what {x} is for."],
                      ["You use {x} to {y}.", "With {x} you can {y}.", "People use {x} to {y}.", "It is used to {y}.", "You need {x} to {y}.", "If you want to {y}, take {x}."], {"x": x, "y": y})
    if kind == 2:
        x, y = g.pick(f.DEFINITIONS)
        return answer(g, ["What is {x}?", "What is {x}?", "Explain what {x} is.", "Do you know what {x} is?", "Can you tell me what {x} is?", "What does the word mean: {x}?", "Tell me what {x} is."],
                      ["{x} is {y}.", "{x} is {y}.", "It is {y}.", "I would say that {x} is {y}.", "In simple words, {x} is {y}.", "We call {y} by that name.", "{x}? That is {y}."], {"x": x, "y": y})
    x, y = g.pick(f.WHYS)
    return answer(g, ["Why {x}?", "Why {x}?", "Can you tell me why {x}?", "Do you know why {x}?", "I wonder why {x}?", "Please explain: why {x}?", "Tell me, why {x}?"],
                  ["Because {y}.", "That is because {y}.", "The reason is that {y}.", "I think it is because {y}.", "It is simple: {y}.", "People say that {y}."], {"x": x, "y": y})


def number(g):
    """Sums, the number after, comparisons of small numbers; pairs are held out by their values."""
    while True:
        x, y = g.rng.randrange(0, 13), g.rng.randrange(0, 13)
        if is_held(3 * x + y) == g.held:
            break
    kind = g.rng.randrange(4)
    if kind == 0:
        b = {"x": str(x), "y": str(y), "z": str(x + y)}
        return answer(g, ["What is {x} + {y}?", "What is {x} plus {y}?", "{x} + {y}", "How much is {x} plus {y}?", "Add {x} and {y}.", "What is the sum of {x} and {y}?", "Calculate {x} + {y}", "What's {x}+{y}?"],
                      ["{x} plus {y} is {z}.", "It is {z}.", "{x} + {y} = {z}", "The answer is {z}.", "That makes {z}.", "If you add {x} and {y}, you get {z}.", "{z}."], b)
    if kind == 1:
        x, y = max(x, y), min(x, y)
        b = {"x": str(x), "y": str(y), "z": str(x - y)}
        return answer(g, ["What is {x} - {y}?", "What is {x} minus {y}?", "{x} - {y}", "How much is {x} minus {y}?", "Take {y} away from {x}.", "If I have {x} apples and eat {y}, how many are left?"],
                      ["{x} minus {y} is {z}.", "It is {z}.", "{x} - {y} = {z}", "The answer is {z}.", "That leaves {z}.", "If you take {y} from {x}, you get {z}."], b)
    if kind == 2:
        n = 1 + (x * y) % 10
        words = f.NUMBERS[1:n + 1]
        return answer(g, ["Count to {n}.", "Can you count to {n}?", "Please count to {n}", "Count from one to {n}.", "Count up to {n}!"], ["{w}.", "{w}!", "Of course: {w}.", "{w}.", "Here we go: {w}."],
                      {"n": f.NUMBERS[n] if g.chance(0.7) else str(n), "w": ", ".join(words)}, plain=True)
    if x == y:
        y += 1
    return answer(g, ["Which is bigger, {x} or {y}?", "Is {x} bigger than {y}?", "What is more, {x} or {y}?", "Which number is bigger: {x} or {y}?", "Compare {x} and {y}."],
                  ["{p} is bigger than {q}.", "{p} is more than {q}.", "The bigger number is {p}.", "{q} is smaller than {p}.", "{p} is the bigger one."],
                  {"x": str(x), "y": str(y), "p": str(max(x, y)), "q": str(min(x, y))})


def order(g):
    kind = g.rng.randrange(3)
    if kind < 2:
        seq, what = (f.DAYS, "day") if kind == 0 else (f.MONTHS, "month")
        i = g.rng.randrange(len(seq))
        before = g.chance(0.4)
        b = {"x": seq[i], "y": seq[(i + (-1 if before else 1)) % len(seq)], "w": what, "r": "before" if before else "after"}
        return answer(g, ["What {w} comes {r} {x}?", "Which {w} is {r} {x}?", "What comes {r} {x}?", "Tell me the {w} {r} {x}.", "What is the {w} {r} {x}?", "{x} is a {w}. What is {r} it?"],
                      ["{y} comes {r} {x}.", "It is {y}.", "The {w} {r} {x} is {y}.", "That is {y}.", "{r} {x} there is {y}." if before else "After {x} comes {y}.", "The answer is {y}."], b)
    i, j = g.rng.sample(range(len(f.SIZES)), 2)
    small, big = f.SIZES[min(i, j)], f.SIZES[max(i, j)]
    b = {"x": f.SIZES[i], "y": f.SIZES[j], "p": big, "q": small}
    return answer(g, ["Which is bigger, a {x} or a {y}?", "Is a {x} bigger than a {y}?", "What is bigger: a {x} or a {y}?", "Who is bigger, the {x} or the {y}?", "Which animal is smaller, a {x} or a {y}?"],
                  ["A {p} is bigger than a {q}.", "The {p} is bigger than the {q}.", "A {q} is smaller than a {p}.", "The {p} is the bigger one, and the {q} is the smaller one.", "A {p} is much bigger than a {q}."], b)


def naming(g):
    group = g.pick(sorted(f.GROUPS))
    n = g.rng.randrange(2, 5)
    items = g.rng.sample(f.GROUPS[group], n)
    b = {"g": group, "n": f.NUMBERS[n], "w": ", ".join(items[:-1]) + " and " + items[-1], "one": items[0]}
    if g.chance(0.3):
        return answer(g, ["Name one of the {g}.", "Tell me one word from this group: {g}.", "Give me an example of {g}.", "What are {g}?", "Which {g} do you know?"],
                      ["{w} are {g}.", "I know {w}.", "For example {w}.", "There are many {g}, for example {w}.", "{one}, for example."], b)
    return answer(g, ["Name {n} {g}.", "Tell me {n} {g}.", "Can you name {n} {g}?", "Give me {n} {g}.", "I need {n} {g}.", "List {n} {g}", "List {n} {g} please"],
                  ["{w}.", "Here are {n} {g}: {w}.", "I know {w}.", "{n} {g} are {w}.", "Sure: {w}.", "{w} are {g}."], b)


def joke(g):
    q, a = g.pick(f.JOKES)
    bind = {"a": "a"}
    text = g.fill(q, bind) + " " + g.fill(a, bind)
    return answer(g, ["Tell me a joke.", "Do you know a joke?", "Make me laugh!", "Tell me something funny.", "Another joke, please.", "A joke", "Tell me a joke about {a} {animal}", "Can you tell me a joke?"],
                  ["{j}", "Here is one. {j}", "I know one! {j}", "Listen. {j}", "{j} Ha ha!", "All right. {j}"], {"j": text}, plain=True)


def howto(g):
    x, y = g.pick(f.HOWTO)
    return answer(g, ["How do I {x}?", "How can I {x}?", "Tell me how to {x}.", "I want to {x}. What should I do?", "Can you explain how to {x}?", "How to {x}?", "What is the best way to {x}?"],
                  ["{y}", "It is easy. {y}", "{y} [Good luck!|That is all.|]", "Let me explain. {y}", "Here is what I would do. {y}", "{y} [Have fun!|]", "Gladly! {y}"], {"x": x, "y": y}, plain=True)


KINDS = [capital, colour, opposite, animal, animal, world, world, world, number, number, order, naming, joke, howto]
