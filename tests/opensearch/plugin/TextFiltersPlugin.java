package nwx;

import java.util.Map;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishPossessiveFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.util.ElisionFilter;
import org.opensearch.index.analysis.NormalizingTokenFilterFactory;
import org.opensearch.index.analysis.TokenFilterFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.Plugin;

/** The token filters that a full OpenSearch has in its module analysis-common. */
public class TextFiltersPlugin extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of(
            "asciifolding", (index, environment, name, settings) -> new AsciiFolding(name),
            "elision", (index, environment, name, settings) ->
                new Elision(name, new CharArraySet(settings.getAsList("articles"), false)),
            "stemmer", (index, environment, name, settings) -> new Possessive(name));
    }

    private record AsciiFolding(String name) implements NormalizingTokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return new ASCIIFoldingFilter(tokens);
        }
    }

    private record Elision(String name, CharArraySet articles)
            implements NormalizingTokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return new ElisionFilter(tokens, articles);
        }
    }

    /** Of the languages of `stemmer` only `possessive_english`. */
    private record Possessive(String name) implements TokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return new EnglishPossessiveFilter(tokens);
        }
    }
}
