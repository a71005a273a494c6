import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Downloads a URL into a file, and asks for the rest with a range after each broken connection. */
class Resume {
    private static final HttpClient CLIENT = HttpClient.newHttpClient(); // its default is HTTP/2, with Upgrade: h2c

    public static void main(String[] arguments) throws Exception {
        Path target = Files.createFile(Path.of(arguments[1]));
        for (int attempt = 1; attempt <= 5; attempt++) {
            try {
                download(URI.create(arguments[0]), target);
                return;
            } catch (IOException | UncheckedIOException error) {
                System.err.println("attempt " + attempt + ": " + error);
            }
        }
        System.exit(1);
    }

    private static void download(URI url, Path target) throws Exception {
        long received = Files.size(target);
        HttpRequest request = HttpRequest.newBuilder(url).header("Range", "bytes=" + received + "-").build();
        var response = CLIENT.send(request, BodyHandlers.ofInputStream());
        if (response.statusCode() != 206) {
            throw new IllegalStateException("status " + response.statusCode());
        }
        try (var body = response.body(); var file = Files.newOutputStream(target, StandardOpenOption.APPEND)) {
            body.transferTo(file);
        }
    }
}
