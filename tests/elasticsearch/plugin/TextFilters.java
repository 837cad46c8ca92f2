package nwx;

import java.util.List;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishPossessiveFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.util.ElisionFilter;
import org.elasticsearch.plugin.Inject;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenFilterFactory;
import org.elasticsearch.plugin.settings.AnalysisSettings;
import org.elasticsearch.plugin.settings.ListSetting;

/** The token filters that a full Elasticsearch has in its module analysis-common. */
public class TextFilters {
    @NamedComponent("asciifolding")
    public static class AsciiFolding implements TokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return new ASCIIFoldingFilter(tokens);
        }

        @Override
        public TokenStream normalize(TokenStream tokens) {
            return create(tokens);
        }
    }

    @AnalysisSettings
    public interface Articles {
        @ListSetting(path = "articles")
        List<String> articles();
    }

    @NamedComponent("elision")
    public static class Elision implements TokenFilterFactory {
        private final CharArraySet articles;

        @Inject
        public Elision(Articles settings) {
            articles = new CharArraySet(settings.articles(), false);
        }

        @Override
        public TokenStream create(TokenStream tokens) {
            return new ElisionFilter(tokens, articles);
        }

        @Override
        public TokenStream normalize(TokenStream tokens) {
            return create(tokens);
        }
    }

    /** Of the languages of this filter only `possessive_english`. */
    @NamedComponent("stemmer")
    public static class Stemmer implements TokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return new EnglishPossessiveFilter(tokens);
        }
    }
}
