"""Sentences from a wide phrase grammar rather than whole templates.

They make up a part of the training text only. A model that saw nothing but templates
would be sure of one of them in any context; these teach it how English goes on when a
sentence is new.
"""
from grammar import tidy
from words import split

WORDS = {
    "n": split("""bone wall window gate wheel rope boot plate clock letter newspaper song question answer door stone nail leaf root branch
nest egg feather tail nose ear hand foot finger head back face mouth tooth hair coat shirt shoe sock button pocket purse chair table bed pillow
sheet carpet stove pot pan knife fork bowl glass bottle jar sack barrel cart saddle fence path road corner hole ditch well roof chimney floor
cellar stair step ladder saw axe hammer shovel broom brush paper ink page word name number picture story secret plan idea wish dream joke riddle
game toy prize present party dance drum horn voice noise light shadow fire smoke ash candle star cloud storm wave ship sail net hook worm fish
seed flower fruit plum nut berry mushroom soup slice crumb crust tea milk water salt sugar spoon day hour year week moment journey step mistake
promise trick lie truth fight peace friend neighbour child baby man woman guest stranger thief guard soldier judge neighbour crowd family group
team class school shop street town hill valley shore island cave tower hall room attic yard stable hut tent camp mine""") ,
    "vt": split("""took carried found pushed opened closed painted dropped washed broke kept held cut hid bought sold brought threw caught built
burned watched heard saw liked loved hated needed wanted lost missed forgot remembered knew followed led met helped called asked thanked hugged
kissed fed chased frightened woke surprised taught warned visited left touched pulled lifted turned filled emptied cleaned mended tied folded
shook counted collected shared borrowed stole gave_away picked_up put_down looked_for waited_for listened_to laughed_at talked_about thought_of
smelled tasted cooked baked ate drank wrote read drew showed hung planted dug covered rolled kicked hit""")    ,
    "vi": split("""slept laughed ran walked sat stood waited fell jumped sang danced cried smiled sighed nodded shouted whispered swam flew climbed
crept hurried stopped turned_around stayed left arrived returned disappeared sneezed yawned trembled stumbled worked rested played grew shone
knocked looked_around woke_up sat_down stood_up went_home came_back ran_away gave_up fell_asleep got_up went_on moved lived travelled hid dreamed""")  ,
    "vb": split("""take carry find push open close paint drop wash break keep hold cut hide buy sell bring throw catch build burn watch hear see
like love need lose miss forget remember know follow lead meet help call ask thank feed chase wake teach warn visit leave touch pull lift turn
fill clean mend tie shake count collect share borrow steal pick_up put_down look_for wait_for listen_to laugh_at talk_about think_of smell taste
cook bake eat drink write read draw show plant dig cover roll kick hit""")    ,
    "vn": split("""sleep laugh run walk sit stand wait fall jump sing dance cry smile shout whisper swim fly climb hurry stop stay leave return
rest play grow work go_home come_back run_away give_up fall_asleep get_up go_on live travel hide dream speak try begin dare hope""")    ,
    "adj2": split("""big small old young new long short tall thin thick heavy light dark bright warm cold hot wet dry clean dirty soft hard loud
quiet fast slow early late good bad nice rich poor strong weak sick healthy hungry thirsty tired angry happy sad glad afraid ready busy free full
empty open closed broken whole round flat sharp deep high low near far wild tame sweet sour bitter fresh strange simple difficult easy important
wonderful terrible beautiful ugly clever silly wise kind cruel gentle rough brave shy proud honest lazy careful best last first next other same
certain perfect special different whole little own real true wrong sure possible impossible lovely cosy grumpy crooked narrow wide""")    ,
    "adv2": split("""then soon again always never often sometimes today yesterday now here there away together alone outside inside everywhere
slowly quickly quietly loudly carefully gently suddenly finally really only just almost still already perhaps maybe once twice too well badly
softly bravely happily sadly politely proudly early late""")    ,
    "prep": split("""in on under behind near by over through across around into from with without for before after between beside above below
along past towards to at inside outside against of about out_of next_to instead_of because_of in_front_of""") ,
    "when": ["after a while", "later", "the next day", "at noon", "in the end", "for a long time", "all night", "every day", "one more time", "at last", "that evening", "before breakfast",
             "after lunch", "in winter", "for many years", "at once", "a little later", "when it was dark", "from time to time", "until the morning", "just then", "by and by", "in a moment", "as usual"],
    "sub": ["because", "when", "but", "and", "so", "while", "until", "before", "after", "if", "although", "as", "since", "and then", "but then", "as soon as"],
    "pro": ["he", "she", "it", "they", "we", "I", "you", "nobody", "everybody", "someone", "both of them", "the others", "all of us", "who"],
    "obj": ["him", "her", "it", "them", "us", "me", "you", "nobody", "everything", "something", "nothing", "everyone"],
    "det": ["the", "the", "the", "a", "a", "his", "her", "my", "your", "their", "our", "its", "this", "that", "some", "every", "no", "another", "one", "such {a}", "many a", "half of the", "all the"],
    "who": ["{girl}", "{boy}", "{pet}", "the {animal}", "the {being}", "the {adj} {animal}", "{pet} the {animal}", "{girl} the {being}", "her {family}", "his {family}", "my {family}"],
    "np": ["{det} {n}", "{det} {adj2} {n}", "{who}", "{det} {thing}", "{det} {animal}", "{det} {n} {prep} {np}", "{who} and {who}", "{food}", "{det} {colour} {thing}", "{obj}", "{det} {n} of {np}", "{det} {place}"],
    "sb": ["{who}", "{who}", "{pro}", "{pro}", "{det} {n}", "{det} {adj2} {n}", "{who} and {who}", "one of {np}"],
    "pp": ["{prep} {np}", "{prep} {det} {n}", "{prep} {det} {place}", "{spot}", "{when}", "{adv2}", "{prep} {obj}"],
    "mod": ["could", "would", "will", "can", "must", "should", "did not", "could not", "will not", "cannot", "wanted to", "had to", "began to", "tried to", "used to", "liked to", "might", "was going to", "did not want to", "does not"],
    "vp": ["{vi}", "{vi} {pp}", "{vi} {pp} {pp}", "{vt} {np}", "{vt} {np} {pp}", "{mod} {vb} {np}", "{mod} {vn}", "{mod} {vn} {pp}", "was {adj2}", "was very {adj2}", "is {adj2}", "had {np}", "was {pp}", "became {adj2} and {adj2}",
           "{vt} {np} and {vi}", "{mod} {vb} {np} {pp}", "was not {adj2} enough to {vb} {np}", "felt {adj2}", "gave {np} {np}", "told {np} to {vb} {np}", "knew that {s}", "said that {s}", "asked if {s}", "looked {adj2}", "went {pp}", "came {pp}", "has {np} that {vp}",
           "was too {adj2} to {vn}", "had {vt} {np}", "is {np}", "was {np}"],
    "s": ["{sb} {vp}", "{sb} {vp}", "{sb} {vp}", "there was {np} {pp}", "{sb} {adv2} {vp}", "it was {np}", "{pp} {vi} {np}", "nothing was as {adj2} as {np}"],
}
SENTENCES = ["{s}.", "{s}.", "{s}.", "{s}.", "{when} {s}.", "{adv2} {s}.", "{pp}, {s}.", "{s} {sub} {s}.", "{s}, {sub} {s}.", "\"{s},\" said {who}.", "\"{s}!\" {vt} {who}.", "\"{s}?\" asked {who} {adv2}.", "{who} said, \"{s}.\"",
             "\"Do {pro} {vb} {np}?\" asked {who}.", "{sub} {s}, {s}.", "\"{vb} {np} {pp}!\" {pro} said.", "What {mod} {pro} {vb}?", "{pro} {mod} {vb} {np}, {sub} {s}.", "Nobody {vt} {np}.", "How {adj2} {np} was!", "There {pro} {vt} {np}, {adj2} and {adj2}.", "{s} {pp}."]
QUESTIONS = ["Do you {vb} {np}?", "Why {mod} {sb} {vb} {np}?", "Where is {np}?", "Can {pro} {vn} {pp}?", "What is {np}?", "Who {vt} {np}?", "How can I {vb} {np}?", "I want to {vb} {np}.", "{s}.", "{s}?", "Is {np} {adj2}?", "When did {sb} {vn}?", "Tell me about {np}.", "{vb} {np} {pp}", "Should I {vb} {np}?", "Would you {vb} {np} {pp}?"]


def sentence(g, templates=SENTENCES):
    """One sentence; expansions that grew too long are drawn again."""
    while True:
        text = tidy(g.fill(g.rng.choice(templates), {"a": "a"}))
        if len(text) < 110:
            return text


def paragraph(g):
    return " ".join(sentence(g) for _ in range(g.rng.randrange(2, 8)))
