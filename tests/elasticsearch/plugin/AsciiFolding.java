package nwx;

import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.elasticsearch.plugin.NamedComponent;
import org.elasticsearch.plugin.analysis.TokenFilterFactory;

/** The token filter `asciifolding`, which a full Elasticsearch has in its module analysis-common. */
@NamedComponent("asciifolding")
public class AsciiFolding implements TokenFilterFactory {
    @Override
    public TokenStream create(TokenStream tokens) {
        return new ASCIIFoldingFilter(tokens);
    }

    @Override
    public TokenStream normalize(TokenStream tokens) {
        return create(tokens);
    }
}
