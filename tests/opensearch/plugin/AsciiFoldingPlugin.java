package nwx;

import java.util.Map;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.opensearch.index.analysis.NormalizingTokenFilterFactory;
import org.opensearch.index.analysis.TokenFilterFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.Plugin;

/** The token filter `asciifolding`, which a full OpenSearch has in its module analysis-common. */
public class AsciiFoldingPlugin extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of("asciifolding", (index, environment, name, settings) -> new AsciiFolding(name));
    }

    private record AsciiFolding(String name) implements NormalizingTokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return new ASCIIFoldingFilter(tokens);
        }
    }
}
