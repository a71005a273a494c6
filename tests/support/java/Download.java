import java.net.URI;

/** Prints the content of a URL, read as simple programs do. */
class Download {
    public static void main(String[] arguments) throws Exception {
        try (var content = URI.create(arguments[0]).toURL().openStream()) {
            content.transferTo(System.out);
        }
        System.out.flush();
    }
}
