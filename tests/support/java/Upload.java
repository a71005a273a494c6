import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/** Uploads a file in one of the ways of Java programs, prints the response, and downloads the file by its short URL. */
class Upload {
    private static final HttpClient CLIENT = HttpClient.newHttpClient(); // its default is HTTP/2, with Upgrade: h2c
    private static final String BOUNDARY = "boundary-of-the-test";
    private static final Pattern SHORT_URL = Pattern.compile("\"shorturl\":\\s*\"([^\"]+)\"");

    private record Answer(int status, String body) {}

    public static void main(String[] arguments) throws Exception {
        for (int number = 3; number < arguments.length; number++) {
            try {
                report(arguments[number], arguments[0], arguments[1], Path.of(arguments[2]));
            } catch (IOException error) {
                System.out.println(arguments[number] + " " + error);
            }
        }
    }

    private static void report(String way, String base, String key, Path file) throws Exception {
        String url = base + "/api/files/upload" + (way.startsWith("form") ? "" : "/" + way + ".bin");
        Answer answer = switch (way) {
            case "form" -> withClient(url, key, form(file, BodyPublishers.ofFile(file)), false);
            case "form-expect" -> withClient(url, key, form(file, BodyPublishers.ofFile(file)), true);
            case "form-chunked" -> withClient(url, key, form(file, ofUnknownLength(file)), false);
            case "form-chunked-expect" -> withClient(url, key, form(file, ofUnknownLength(file)), true);
            default -> withConnection(url, key, file, way);
        };
        System.out.println(way + " " + answer.status() + " " + answer.body());
        var shortUrl = SHORT_URL.matcher(answer.body());
        if (shortUrl.find()) {
            try (var content = URI.create(shortUrl.group(1)).toURL().openStream()) {
                System.out.println(way + " " + Arrays.equals(content.readAllBytes(), Files.readAllBytes(file)));
            }
        }
    }

    /** Sends about a megabyte in a second. */
    private static void copySlowly(Path file, OutputStream output) throws IOException {
        try (var input = Files.newInputStream(file)) {
            for (byte[] part = input.readNBytes(50_000); part.length > 0; part = input.readNBytes(50_000)) {
                output.write(part);
                LockSupport.parkNanos(50_000_000);
            }
        }
    }

    private static BodyPublisher ofUnknownLength(Path file) {
        return BodyPublishers.ofInputStream(() -> {
            try {
                return Files.newInputStream(file);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        });
    }

    private static BodyPublisher form(Path file, BodyPublisher content) {
        String head = "--" + BOUNDARY + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + file.getFileName()
            + "\"\r\nContent-Type: application/octet-stream\r\n\r\n";
        return BodyPublishers.concat(
            BodyPublishers.ofString(head), content, BodyPublishers.ofString("\r\n--" + BOUNDARY + "--\r\n"));
    }

    private static Answer withClient(String url, String key, BodyPublisher body, boolean expect) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
            .header("Authorization", "Bearer " + key)
            .header("Content-Type", "multipart/form-data; boundary=" + BOUNDARY)
            .expectContinue(expect)
            .POST(body)
            .build();
        var response = CLIENT.send(request, BodyHandlers.ofString());
        return new Answer(response.statusCode(), response.body());
    }

    private static Answer withConnection(String url, String key, Path file, String way) throws IOException {
        var connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
        connection.setRequestMethod("POST");
        connection.setRequestProperty("Authorization", "Bearer " + key);
        connection.setRequestProperty("Content-Type", "application/octet-stream");
        connection.setDoOutput(true);
        if (way.contains("expect")) {
            connection.setRequestProperty("Expect", "100-continue");
        }
        if (way.contains("chunked")) {
            connection.setChunkedStreamingMode(8192);
        } else {
            connection.setFixedLengthStreamingMode(Files.size(file));
        }
        try (OutputStream output = connection.getOutputStream()) {
            if (way.contains("slow")) {
                copySlowly(file, output);
            } else {
                Files.copy(file, output);
            }
        } catch (IOException error) {
            System.err.println(error); // a refusal before the end of the body: the response tells the reason
        }
        int status = connection.getResponseCode();
        var stream = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        return new Answer(status, stream == null ? "" : new String(stream.readAllBytes(), StandardCharsets.UTF_8));
    }
}
