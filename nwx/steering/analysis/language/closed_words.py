"""Words of the closed classes: articles, pronouns, prepositions, conjunctions, auxiliaries."""

CLOSED_WORDS = {
    "en": """a about above after again against all also am an and any are as at be because been
        before being below between both but by can could did do does doing down during each few
        for from further had has have having he her here hers herself him himself his how i if in
        into is it its itself just may me might more most must my myself no nor not now of off on
        once only or other our ours ourselves out over own same shall she should so some such than
        that the their theirs them themselves then there these they this those through to too
        under until up upon us very was we were what when where which while who whom whose why
        will with within without would you your yours yourself s t d ll re ve m""",
    "de": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim
        bin bis bist da damit dann das dass daß dein deine dem den denn der des dessen deshalb die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines
        er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter
        ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes
        jetzt kann kein keine keinem keinen keiner können könnte machen man mehr mein meine mich
        mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem
        seinen seiner seit sich sie sind so soll sollte sondern sonst über um und uns unser unsere
        unter vom von vor war waren warst was weg weil weiter welche welchem welchen welcher
        wenn wer werde werden wie wieder will wir wird wirst wo wollen wollte während würde würden
        zu zum zur zwar zwischen""",
    "fr": """à ai alors au aucun aussi autre aux avait avant avec avoir car ce cela ces cet cette
        ceux chez comme comment d dans de depuis des deux dont donc du elle elles en encore entre
        es est et étaient était être eu eux fait faire furent fut il ils j je jusque l la là le
        les leur leurs lui ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas
        pendant peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se
        selon ses si sien son sont sous sur t ta tandis te tes toi ton tous tout toute toutes très
        trop tu un une vers vos votre vous y""",
    "es": """a al algo ante antes aquel aquella aquí así aun aunque cada como con contra cual
        cuando de del desde donde dos e el él ella ellas ellos en entre era eran es esa esas ese
        eso esos está están esta estas este esto estos fue fueron ha habia había han hasta hay la
        las le les lo los más me mi mientras muy nada ni no nos nosotros nuestro o otra otras otro
        otros para pero poco por porque pues que qué quien se sea según ser si sí sido sin sobre
        son su sus también tan tanto te tiene tienen toda todas todo todos tras tu un una unas uno
        unos y ya yo""",
    "it": """a ad ai al alla alle allo altre altri altro anche ancora avere aveva c che chi ci
        come con contro cui da dai dal dalla dalle de degli dei del della delle dello di dopo dove
        due e è ed era erano essere fra fu gli ha hanno i il in io l la le lei li lo loro lui ma me
        mi mia mio molto ne nei nel nella nelle no noi non nostro o ogni per perché più poi prima
        quale quando quanto quella quelle quelli quello questa queste questi questo qui se sei
        senza si sia solo sono sta stata stati stato su sua sue sui sul sulla suo suoi te ti tra
        tu tutti tutto un una uno vi voi""",
    "nl": """aan af al alle als bij dan dat de der deze die dit doch doen door dus een eens en er
        ge geen had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon maar me
        meer men met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te
        tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wij wil worden
        wordt zal ze zei zelf zich zij zijn zo zonder zou""",
    "pt": """a ao aos aquela aquele as até com como da das de dela dele depois do dos e é ela elas
        ele eles em entre era essa esse esta está estas este estes eu foi foram há isso isto já lhe
        mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o os ou
        para pela pelas pelo pelos por porque qual quando que quem são se seja sem ser seu seus só
        sobre sua suas também te tem têm tinha todos tu um uma você""",
    "pl": """a aby ale bardzo bez bo by był była było były być ci co czy dla do gdy gdzie go i ich
        im inne jak jako je jego jej jest jeszcze jeśli już każdy kiedy który która które ku lub ma
        mi mnie może na nad nas nie niż o od on ona one oni oraz po pod przed przez przy są się
        tak także tam te tego tej ten to tu tych tylko tym u w we więc wszystko z za ze że""",
    "sv": """alla att av blev bli de dem den denna det detta dig din dock du där efter ej eller en
        er ett från för ha hade han hans har hennes hon honom hur här i icke in inte jag kan kunde
        man med mellan men mig min mot mycket ni nu när någon något några och om oss på samma sedan
        sig sin sina sitta själv skulle som så till under upp ut utan vad var vara varit vi vid
        vilken är över""",
    "da": """af alle at blev da de dem den denne der deres det dette dig din dog du efter eller en
        end er et for fra få ham han hans har havde hende her hos hun hvad hvis hvor i ikke ind jeg
        jer kan kunne man mange med meget men mig min mod ned noget nogle nu når og også om op os
        over på selv sig sin skal skulle som så til ud under var ved vi vil ville være været""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всё вы где да даже
        для до его ее её если есть еще ещё же за здесь и из или им их к как ко когда который кто
        ли либо мне может мы на над нам нас не него нее ней нет ни них но ну о об однако он она
        они оно от очень по под при с со так также такой там те тем то того тоже той только том ты
        у уже хотя чего чей чем что чтобы эта эти это этот я""",
}
"""The closed classes by language."""
