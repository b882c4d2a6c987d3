"""Composes short stories from openings, a plot of themes.py and an ending."""
import themes as a
import themes2 as b
from grammar import tidy
from wide import sentence

THEMES = {
    "lost": a.LOST, "storm": a.STORM, "learn": a.LEARN, "hurt": a.HURT, "find": a.FIND, "share": a.SHARE,
    "plant": a.PLANT, "dark": b.DARK, "trip": b.TRIP, "race": b.RACE, "break": b.BREAK, "gift": b.GIFT,
    "friend": b.FRIEND, "work": b.WORK, "wish": b.WISH,
}
OPENINGS = [
    "Once upon a time there was {a} {A} {K} named {N}.", "Once upon a time, at a {place} far away, lived {a} {K} called {N}.",
    "There once was {a} {K} whose name was {N}.", "{N} was {a} {A} {K} who lived [near|by|behind] the {P}.",
    "Long ago, {a} {A} {K} named {N} lived in a house [by|near] the {place}.", "In a small house by the {place}, there lived {a} {K} called {N}.",
    "This is the story of {N}, {a} {A} {K}.", "Not far from here lives {a} {K}. {His} name is {N}.",
    "{N} the {K} was known for being very {adj}.", "Once there was {a} {K}. {He} was called {N}, and {he} was very {A}.",
    "Have you heard of {N}, the {A} {K}?", "One {time}, {a} {A} {K} named {N} woke up early.",
    "On a {weather} {time}, {a} {K} named {N} was sitting by the {place}.", "Once upon a time, {a} {A} {K} named {N} lived at the {place} with {his} {family}.",
    "Many years ago there was {a} {adj} and {adj} {K}. Everyone called {him} {N}.", "In the middle of the {place} stood a {colour} house, and in it lived {N} the {K}.",
    "Some people say that {a} {K} cannot be {A}. But {N} was {a} {K}, and {he} was.", "It was a {weather} {time}. {N} the {K} looked out of the window.",
    "Once upon a time {a} {K} and {a} {animal} lived together by the {place}. The {K} was called {N}.",
    "{N} was the only {K} at the {place}.", "Far away, behind the {place}, {a} {A} {K} by the name of {N} was born.",
    "When the {place} was still young, {a} {K} named {N} came to live there.",
    "The {A} {K} {N} lived alone at the {place}.", "The {K} of the {place} was called {N}.", "The little {K} was called {N}, and {he} was as {adj} as {a} {animal}.",
    "Two friends, {N} the {K} and {M} the {L}, lived by the {place}.", "Every {time}, {N} the {K} walked to the {place} and back.",
    "{N} and {M} were neighbours. {N} was {a} {A} {K}, and {M} was {a} {L}.", "There was a time when {N}, {a} {A} {K}, was the talk of the {place}.",
    "Deep in the [forest|valley|village] lived {a} {K}, and {his} name was {N}.", "Under the old bridge lived {a} {A} {K} named {N}.", "Once there lived {a} {K}, and everybody knew {him} as {N} the {A}.",
    "I will tell you about {N}, {a} {K} who was never {sad}.", "My grandmother once knew {a} {K} called {N}.", "Nobody at the {place} was as {adj} as {N} the {K}.",
]
DETAILS = [
    "{He} liked {food} and {game}.", "{He} had {a} {athing} {thing} and {a} {athing} {thing}.", "It was a {weather} {time}.",
    "{His} best friend was {M} the {L}.", "{He} was very {A}, but {he} was sometimes {sad}.", "{He} had {colour} eyes and a {noise} voice.",
    "In the [morning|evening|afternoon] {he} liked to sit {spot}.", "For breakfast {he} always had {food} and {food}.", "{He} and {his} {family} ate {food} every day.",
    "{He} could {skill}, and {he} could {skill} too.", "{He} wore {a} {colour} hat, even in bed.", "Everybody at the {place} liked {him}.",
    "", "", "", "", "",
]
LINKS = [
    "Nobody knew why.", "The {animal} and the {animal} watched from far away.", "The [cold|warm|strong|soft] wind blew through the {place}.",
    "\"What a {weather} {time},\" said {M}.", "It was as quiet as a {animal}.", "Somewhere {a} {animal} was singing.",
    "\"Hm,\" said {N}, and {he} thought about {food}.", "A {colour} butterfly flew past.", "The sun was going down behind the {place}.",
    "{N} looked at {M}, and {M} looked at {N}.", "That made {him} think.", "\"Ha!\" said a {animal} and ran away.",
]
ENDINGS = [
    "And they lived happily ever after.", "{N} went home, ate some {food} and slept well.", "That night {N} fell asleep with a smile.",
    "And {his} {family} gave {him} a big hug.", "Since that day, {N} has been a little [braver|wiser|kinder].", "{N} was very {glad}.",
    "It was the best {time} of {his} life.", "And if you go to the {P}, you can still see {him} there.", "\"What a day!\" said {N}.",
    "So {N} learned that it is good to be kind.", "{N} never forgot that {time}.", "\"Tomorrow,\" {he} said, \"will be another good day.\"",
    "And that is why the {K} of the {place} is always {glad}.", "Then they all went to the {place} and had {food}.",
    "So {N} learned that friends are worth more than gold.", "Everyone at the {P} told the story for years.", "And {N} and {M} were friends forever.",
    "The end.", "Now {N} tells this story to every {animal} at the {P}.", "", "", "", "", "",
]
ONSETS = "b br c d dr f fl g gr h j k kl l m n p pl qu r s sh st t tr v w z".split()
VOWELS = "a e i o u ai ee oo ia".split()
CODAS = "n r s t l m x nd rt ck th".split() + [""] * 6
PRONOUNS = {"f": ("she", "her", "her"), "m": ("he", "him", "his")}


def made_up(g):
    """A made-up word, so that copying a word from the context is learnt in general."""
    return "".join(g.rng.choice(ONSETS) + g.rng.choice(VOWELS) + g.rng.choice(CODAS) for _ in range(g.rng.choice((1, 2, 2, 3))))


def someone(g, bind, suffix, kind=None):
    """Binds a name, a kind and pronouns; suffix is "" for the hero and "2" for the friend."""
    sex = g.rng.choice("fm")
    if kind is None:
        roll = g.rng.random()
        kind = g.pick(g.words["animal"]) if roll < 0.5 else g.pick(g.words["being"]) if roll < 0.7 else \
            ("girl" if sex == "f" else "boy")
    if kind in ("girl", "princess", "queen", "mermaid", "hen"):
        sex = "f"
    if kind in ("boy", "king", "prince"):
        sex = "m"
    human = kind in ("girl", "boy") or g.chance(0.45)
    names = g.words["girl" if sex == "f" else "boy"] if human else g.words["pet"]
    name = made_up(g).capitalize() if not g.held and g.chance(0.08) else g.pick(names)
    while name in bind.values():
        name = g.pick(names)
    he, him, his = PRONOUNS[sex]
    bind.update({"he" + suffix: he, "him" + suffix: him, "his" + suffix: his, "He" + suffix: he.capitalize(),
                 "His" + suffix: his.capitalize(), "himself" + suffix: ("her" if sex == "f" else "him") + "self"})
    bind["N" if not suffix else "M"], bind["K" if not suffix else "L"] = name, kind


def story(g, kind=None, thing=None, place=None, name=None, theme=None, skill=None, short=False):
    """One story as a string. kind, thing, place, name: what it must be about, if given."""
    bind = {"a": "a"}
    someone(g, bind, "", kind)
    if name:
        bind["N"] = name
    someone(g, bind, "2")
    bind["A"] = g.pick(g.words["adj"])
    bind["T"] = thing or g.fill("{athing} {thing}", {})
    bind["P"] = place or g.pick(g.words["place"])
    bind["S"] = skill or g.pick(g.words["skill"])
    if theme is None:
        theme = g.pick(["lost", "find", "trip"] if thing else list(THEMES))
    opening = g.pick(OPENINGS)
    parts = [g.fill(opening, bind)]
    if not short and g.chance(0.6):
        parts.append(g.fill(g.pick(DETAILS), bind))
    stages = THEMES[theme]
    loose = not g.held and g.chance(0.12)  # some stories wander, see wide.py
    met = "{M}" in opening
    skip = g.rng.randrange(1, len(stages) - 1) if short else -1
    for i, stage in enumerate(stages):
        if i == skip:
            continue
        template = g.pick(stage)
        if "{M}" in template and not met:  # the first mention says who the friend is
            met = True
            if "{L}" not in template:
                template = template.replace("{M}", "{M} the {L}", 1)
        parts.append(g.fill(template, bind))
        if loose and g.chance(0.5):
            parts.append(sentence(g))
        if g.chance(0.08) and met:
            parts.append(g.fill(g.pick(LINKS), bind))
    parts.append(g.fill(g.pick(ENDINGS), bind))
    return tidy(" ".join(p for p in parts if p))
