"""Names that tell the role of a link: of elements and classes around it, of advertisers' hosts."""

ROLE_NAMES = {
    "advertisement": """ad ads adv advert adverts advertisement advertisements advertising
        adsbygoogle adsense adbox adunit banner banners sponsor sponsors sponsored dfp
        rel:sponsored anzeige anzeigen werbung reklame publicidad""",
    "login": "login loginbox loginform signin signup pt-login pt-userlogin p-personal",
    "pagination": """pagination pager paging pagenav pagenavi paginate paginator pagelinks
        rel:next rel:prev rel:previous page-numbers page-link nextpostslink blog-pager mw-prevlink
        mw-nextlink older newer""",
    "comment": """comment comments commentlist disqus respond commentmetadata reply replies
        kommentare commentaires comentarios""",
    "calendar": "calendar datepicker kalender calendrier calendario",
    "navigation": """nav navbar navigation navigator menu menubar menulink submenu header masthead
        footer sidebar sidebars breadcrumb breadcrumbs crumbs aside topbar toolbar toolbox tabs
        widget portlet archives archive blogroll tagcloud tags categories category rel:tag
        rel:category rel:author rel:home rel:license toc catlinks editsection share sharing social
        skip topnav leftnav subnav mainnav sitenav nav-links linklist sitemap copyright logo
        language-switcher langs interlanguage-link role:navigation role:menu role:menuitem
        role:banner role:contentinfo role:complementary role:menubar role:tablist""",
    "content": """article post hentry story h1 h2 h3 h4 entry bodycontent
        entry-title entry-header entry-content entry-summary post-header post-title article-header
        topictitle teaser headline rel:bookmark mw-body-content mw-content-text
        mw-parser-output postbody post-body blockquote role:article""",
}
"""Names, ids, classes, roles and relations, by the role that they tell."""

NOT_IN_COMPOUNDS = frozenset(
    """category categories tags archive archives post article story entry h1 h2 h3 h4 reply
    logo adv banner banners promo""".split()
)
"""Names that tell nothing as part of another, such as `category-news` of an article."""

ADVERTISERS = frozenset(
    """doubleclick.net googlesyndication.com googleadservices.com adservice.google.com taboola.com
    outbrain.com amazon-adsystem.com adnxs.com adform.net criteo.com zedo.com tradedoubler.com
    zanox.com awin1.com linksynergy.com anrdoezrs.net fastclick.net adbrite.com overture.com
    valueclick.com atdmt.com adbutler.com openx.net rubiconproject.com""".split()
)
"""Hosts, with their subdomains, that serve advertisements."""
