# Any program that writes CSV. A row counts when its line ends; the first line is the header.
chandler import --follow - --server "$CHANDLER_URL" --all-final
