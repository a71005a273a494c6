import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;

/** Sends requests to an API, one after the other, and prints the status and body of each response as a line. */
class Requests {
    private static final HttpClient CLIENT = HttpClient.newHttpClient(); // its default is HTTP/2, with Upgrade: h2c

    public static void main(String[] arguments) throws Exception {
        String base = arguments[0];
        String key = arguments[1];
        byte[] file = new byte[300_000];
        Arrays.fill(file, (byte) 'j');
        for (int number = 1; number <= 2; number++) {
            String body = "{\"url\": \"https://example.com/\", \"custom\": \"java-" + number + "\"}";
            send(base + "/api/url/add", key, BodyPublishers.ofString(body));
        }
        send(base + "/api/files/upload/java-1.bin", key, BodyPublishers.ofByteArray(file));
        send(base + "/api/files/upload/java-2.bin", key, BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(file)));
    }

    private static void send(String url, String key, BodyPublisher body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
            .header("Authorization", "Bearer " + key)
            .header("Content-Type", "application/json")
            .POST(body)
            .build();
        var response = CLIENT.send(request, BodyHandlers.ofString());
        System.out.println(response.statusCode() + " " + response.body());
    }
}
