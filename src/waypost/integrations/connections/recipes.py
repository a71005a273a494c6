"""Settings of other programs for this service: files to import, a bookmarklet, and snippets to paste."""

import json
from dataclasses import dataclass
from typing import Any

PLACEHOLDER = "YOUR_API_KEY"
"""Stands for the API key where it is not known."""


@dataclass(frozen=True)
class Recipe:
    """A file, or text to paste, for another program. It contains the API key, if one is needed."""

    filename: str
    media_type: str
    content: str


def all_recipes(base: str, key: str) -> dict[str, Recipe]:
    """Return every recipe by its name; `base` is the base URL of the service."""
    return {
        "sharex-upload": _json("waypost-upload.sxcu", sharex_uploader(base, key)),
        "sharex-shorten": _json("waypost-shorten.sxcu", sharex_shortener(base, key)),
        "n8n": _json("waypost-n8n.json", n8n_workflow(base, key)),
        "wordpress": Recipe("waypost.php", "application/x-php", wordpress_plugin(base, key)),
    }


def _json(filename: str, content: dict[str, Any]) -> Recipe:
    return Recipe(filename, "application/json", json.dumps(content, indent=2))


def sharex_uploader(base: str, key: str) -> dict[str, Any]:
    """Return a custom uploader of ShareX for files, images and text."""
    return {
        "Version": "15.0.0",
        "Name": f"waypost: upload to {_host(base)}",
        "DestinationType": "ImageUploader, TextUploader, FileUploader",
        "RequestMethod": "POST",
        "RequestURL": f"{base}/api/files/upload/{{filename}}",
        "Headers": {"Authorization": f"Bearer {key}"},
        "Body": "Binary",
        "URL": "{json:shorturl}",
        "ErrorMessage": "{json:message}",
    }


def sharex_shortener(base: str, key: str) -> dict[str, Any]:
    """Return a custom URL shortener of ShareX."""
    return {
        "Version": "15.0.0",
        "Name": f"waypost: shorten with {_host(base)}",
        "DestinationType": "URLShortener, URLSharingService",
        "RequestMethod": "POST",
        "RequestURL": f"{base}/api/url/add",
        "Headers": {"Authorization": f"Bearer {key}"},
        "Body": "JSON",
        "Data": json.dumps({"url": "{input}"}),
        "URL": "{json:shorturl}",
        "ErrorMessage": "{json:message}",
    }


def n8n_workflow(base: str, key: str) -> dict[str, Any]:
    """Return a workflow of n8n that shortens a URL with its HTTP Request node."""
    request = {
        "method": "POST",
        "url": f"{base}/api/url/add",
        "sendHeaders": True,
        "headerParameters": {"parameters": [{"name": "Authorization", "value": f"Bearer {key}"}]},
        "sendBody": True,
        "specifyBody": "json",
        "jsonBody": json.dumps({"url": "https://example.com/"}),
    }
    nodes = [
        _n8n_node("Start", "manualTrigger", 1, {}, 0),
        _n8n_node("Shorten a URL", "httpRequest", 4.2, request, 240),
    ]
    next_node = {"node": nodes[1]["name"], "type": "main", "index": 0}
    return {"name": "waypost: shorten a URL", "nodes": nodes, "connections": {"Start": {"main": [[next_node]]}}}


def _n8n_node(name: str, kind: str, version: float, parameters: dict[str, Any], left: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": f"n8n-nodes-base.{kind}",
        "typeVersion": version,
        "position": [left, 0],
        "parameters": parameters,
    }


def wordpress_plugin(base: str, key: str) -> str:
    """Return a WordPress plugin of one file: the shortlink of each published post is a short link."""
    return _WORDPRESS.replace("{base}", base).replace("{key}", key)


def bookmarklet(base: str) -> str:
    """Return a `javascript:` URL that opens the form for a new link with the address of the current page."""
    page = "encodeURIComponent(location.href)+'&title='+encodeURIComponent(document.title)"
    return f"javascript:void(open('{base}/dashboard/links/new?url='+{page}))"


def search_url(base: str) -> str:
    """Return the URL of a search keyword of a browser, which replaces %s by the typed text."""
    return f"{base}/dashboard/links/new?url=%s"


def _host(base: str) -> str:
    return base.partition("://")[2]


_WORDPRESS = """\
<?php
/*
Plugin Name: waypost
Description: Gives every published post a short link of {base}.
*/
add_filter('pre_get_shortlink', function ($shortlink, $id) {
    $post = get_post($id);
    if (!$post || $post->post_status !== 'publish') {
        return $shortlink;
    }
    $saved = get_post_meta($post->ID, '_waypost_url', true);
    if ($saved) {
        return $saved;
    }
    $response = wp_remote_post('{base}/api/url/add', array(
        'headers' => array(
            'Authorization' => 'Bearer {key}',
            'Content-Type' => 'application/json',
            'Idempotency-Key' => 'wordpress-' . md5(get_permalink($post)),
        ),
        'body' => wp_json_encode(array(
            'url' => get_permalink($post),
            'title' => get_the_title($post),
        )),
    ));
    $answer = json_decode(wp_remote_retrieve_body($response), true);
    if (empty($answer['shorturl'])) {
        return $shortlink;
    }
    update_post_meta($post->ID, '_waypost_url', $answer['shorturl']);
    return $answer['shorturl'];
}, 10, 2);
"""
