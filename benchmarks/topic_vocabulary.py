"""Words of the subjects of the generated web in topic_pages.py."""

SUBJECT = "flood"
"""The subject of a crawl of the generated web."""

WORDS = {
    "flood": (
        "flood flooding dyke dam sandbags levee evacuation overflow river gauge rainfall"
        " inundation embankment downpour rescue barrier tide surge estuary floodplain"
    ).split(),
    "Hochwasser": (
        "Hochwasser Deich Sandsäcke Pegel Überschwemmung Starkregen Evakuierung Sturmflut Damm"
        " Rettung Helfer Flut Uferstraße Hochwasserschutz Fluss"
    ).split(),
    "politics": (
        "election parliament minister coalition vote budget debate party campaign reform law"
        " committee speaker opposition mandate"
    ).split(),
    "sport": (
        "match league goal striker coach season stadium transfer defender cup training injury"
        " champion referee score"
    ).split(),
    "culture": (
        "theatre exhibition painter novel concert orchestra premiere museum gallery poet festival"
        " sculpture actor stage film"
    ).split(),
    "garden": (
        "roses compost seedlings pruning tomato greenhouse lawn mulch tulips hedge orchard soil"
        " harvest shovel herbs"
    ).split(),
    "software": (
        "compiler keyboard driver update kernel browser plugin backup password router laptop"
        " screen install printer thread"
    ).split(),
    "science": (
        "telescope enzyme theorem proton genome fossil molecule orbit neuron catalyst isotope"
        " galaxy experiment microscope equation"
    ).split(),
    "goods": (
        "jacket boots discount basket delivery leather cotton size colour voucher warranty sofa"
        " lamp kettle blanket"
    ).split(),
    "casino": (
        "casino jackpot bonus roulette poker betting slots spins winner free deposit wager lucky"
        " chips payout"
    ).split(),
}
"""Words of each subject. "Hochwasser" is the subject of the crawl in German."""

PLAIN = (
    "the of and to in a that it was for on with as at by from this had not are but were his they"
    " have an which one you all there been their more when said time people year day man town"
    " house water road night week morning report place work part world life hand way old city"
    " number case group company problem fact area point home room money story month book eye job"
    " word business issue side kind head service friend father power hour game line end member"
).split()
"""Words on pages of all subjects, including words for places that can be flooded."""

KEYWORDS = (
    ("flood", 3.0, "en"),
    ("flooding", 2.0, "en"),
    ("dyke", 2.0, "en"),
    ("levee", 2.0, "en"),
    ("sandbags", 1.5, "en"),
    ("evacuation", 1.5, "en"),
    ("inundation", 1.5, "en"),
    ("river gauge", 1.0, "en"),
    ("Hochwasser", 3.0, "de"),
    ("Deich", 2.0, "de"),
    ("Überschwemmung", 2.0, "de"),
    ("Sturmflut", 2.0, "de"),
)
"""Text, weight and language of the keywords of a crawl about floods."""

ENTITIES = (
    ("Elbe", ("Elbe River", "River Elbe", "Labe"), "place"),
    ("Technisches Hilfswerk", ("THW",), "organisation"),
    ("Dresden Flood Office", ("Flood Office",), "organisation"),
)
"""Name, aliases and kind of the entities of that crawl."""
