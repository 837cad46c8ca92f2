"""Words that tell what a name is: titles of persons, parts of organisations, months."""

PARTICLES = frozenset(
    """af al ap bin da das de degli dei del della den der des di do dos du el ibn la las le los of
    st ter und van von zu""".split()
)
"""Words in lower case that stand between the words of a name."""

PERSON_TITLES = frozenset(
    """mr mrs ms miss dr prof professor sir lord lady dame president chancellor minister senator
    governor mayor king queen prince princess pope bishop archbishop cardinal rabbi imam general
    colonel captain major admiral judge ambassador secretary congressman congresswoman
    herr frau doktor bundeskanzler bundeskanzlerin kanzler kanzlerin präsident präsidentin
    ministerin bürgermeister bürgermeisterin bischof könig königin papst
    m mme mlle monsieur madame président présidente ministre maire docteur professeur roi reine
    sr sra señor señora don doña presidente presidenta ministro ministra alcalde rey reina
    signor signora dott onorevole sindaco re regina
    dhr mevrouw meneer burgemeester koning koningin senhor senhora doutor""".split()
)
"""Words in front of the name of a person, in lower case."""

ORGANISATION_ENDS = frozenset(
    """inc ltd llc plc corp corporation company gmbh ag kg ev sa sarl spa srl bv nv ab oy as
    university college school institute academy museum library archive archives hospital church
    ministry department agency authority commission committee council parliament senate congress
    court bank fund foundation association federation union league society party club group
    network service services press times post journal organisation organization office bureau
    universität hochschule institut akademie bibliothek archiv ministerium behörde amt kommission
    rat gericht stiftung verband verein partei bund gesellschaft feuerwehr
    université musée ministère parti syndicat société fondation universidad ministerio partido
    fundación università partito universiteit""".split()
)
"""Words that end the name of an organisation, in lower case."""

ORGANISATION_STARTS = frozenset(
    """university college institute academy museum library ministry department agency commission
    committee council bank house court church society federation association league
    universität hochschule institut akademie ministerium amt bund rat verband gesellschaft
    université institut académie musée ministère parti société conseil banque
    universidad instituto ministerio partido banco consejo università istituto ministero
    universiteit ministerie""".split()
)
"""Words that begin the name of an organisation, when `of`, `für`, `de` and the like follow."""

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier enero gennaio januari janeiro",
            "february feb februar février febrero febbraio februari fevereiro",
            "march mar märz mars marzo maart março",
            "april apr avril abril aprile",
            "may mai mayo maggio mei maio",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto augustus",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember décembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
"""Months by their names in seven languages, in lower case."""
