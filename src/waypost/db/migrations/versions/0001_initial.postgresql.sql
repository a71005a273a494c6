-- The schema of revision 0001. It stays as it is when the schema changes: a later revision alters these tables.
-- An empty line ends a statement.

CREATE TABLE installation (
    name VARCHAR(64) NOT NULL,
    value BYTEA NOT NULL,
    CONSTRAINT installation_pk PRIMARY KEY (name)
);

CREATE TABLE plans (
    id BIGSERIAL NOT NULL,
    name VARCHAR(64) NOT NULL,
    status VARCHAR(16) NOT NULL,
    rate_limit BIGINT NOT NULL,
    upload_limit BIGINT NOT NULL,
    storage_limit BIGINT,
    item_limit BIGINT,
    CONSTRAINT plans_pk PRIMARY KEY (id),
    CONSTRAINT plans_status_check CHECK (status IN ('free', 'pro')),
    CONSTRAINT plans_name_unique UNIQUE (name)
);

CREATE TABLE accounts (
    id BIGSERIAL NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    username VARCHAR(64) NOT NULL,
    username_key VARCHAR(64) NOT NULL,
    password TEXT NOT NULL,
    password_changed BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    rate_limit BIGINT,
    owner BOOLEAN NOT NULL,
    suspended BOOLEAN NOT NULL,
    expires BIGINT,
    registered BIGINT NOT NULL,
    deletion_due BIGINT,
    language VARCHAR(8) NOT NULL,
    stored BIGINT NOT NULL,
    revoked_start BIGINT NOT NULL,
    revoked_used BIGINT NOT NULL,
    CONSTRAINT accounts_pk PRIMARY KEY (id),
    CONSTRAINT accounts_plan_fk FOREIGN KEY(plan) REFERENCES plans (id) ON DELETE RESTRICT,
    CONSTRAINT accounts_email_key_unique UNIQUE (email_key),
    CONSTRAINT accounts_username_key_unique UNIQUE (username_key)
);

CREATE INDEX accounts_deletion_due ON accounts (deletion_due);

CREATE TABLE api_keys (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL,
    hint VARCHAR(16) NOT NULL,
    scope VARCHAR(8) NOT NULL,
    expires BIGINT,
    created BIGINT NOT NULL,
    last_used BIGINT,
    window_start BIGINT NOT NULL,
    window_used BIGINT NOT NULL,
    CONSTRAINT api_keys_pk PRIMARY KEY (id, account),
    CONSTRAINT api_keys_scope_check CHECK (scope IN ('read', 'write', 'account')),
    CONSTRAINT api_keys_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT api_keys_digest_unique UNIQUE (digest, account)
);

CREATE INDEX api_keys_account_id ON api_keys (account, id);

CREATE TABLE sessions (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    agent TEXT NOT NULL,
    created BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    CONSTRAINT sessions_pk PRIMARY KEY (id, account),
    CONSTRAINT sessions_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT sessions_digest_unique UNIQUE (digest, account)
);

CREATE INDEX sessions_account_id ON sessions (account, id);

CREATE INDEX sessions_seen ON sessions (seen);

CREATE TABLE totp_secrets (
    account BIGINT NOT NULL,
    secret VARCHAR(64) NOT NULL,
    last_step BIGINT NOT NULL,
    created BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    day_failures BIGINT NOT NULL,
    day_end BIGINT NOT NULL,
    blocked_until BIGINT NOT NULL,
    CONSTRAINT totp_secrets_pk PRIMARY KEY (account),
    CONSTRAINT totp_secrets_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE TABLE recovery_codes (
    account BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    CONSTRAINT recovery_codes_pk PRIMARY KEY (account, digest),
    CONSTRAINT recovery_codes_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE TABLE account_exports (
    account BIGINT NOT NULL,
    running_until BIGINT NOT NULL,
    finished BIGINT,
    CONSTRAINT account_exports_pk PRIMARY KEY (account),
    CONSTRAINT account_exports_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE TABLE idempotency_keys (
    account BIGINT NOT NULL,
    key VARCHAR(255) NOT NULL,
    request BYTEA NOT NULL,
    claim BYTEA NOT NULL,
    until BIGINT NOT NULL,
    status BIGINT,
    body BYTEA,
    CONSTRAINT idempotency_keys_pk PRIMARY KEY (account, key),
    CONSTRAINT idempotency_keys_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX idempotency_keys_until ON idempotency_keys (until);

CREATE TABLE aliases (
    host TEXT NOT NULL,
    alias VARCHAR(190) NOT NULL,
    account BIGINT,
    kind VARCHAR(8),
    item BIGINT,
    CONSTRAINT aliases_pk PRIMARY KEY (host, alias),
    CONSTRAINT aliases_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE SET NULL
);

CREATE TABLE page_counters (
    account BIGINT NOT NULL,
    noun VARCHAR(16) NOT NULL,
    level INTEGER NOT NULL,
    block BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    CONSTRAINT page_counters_pk PRIMARY KEY (account, noun, level, block),
    CONSTRAINT page_counters_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE TABLE domains (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    host TEXT NOT NULL,
    scheme VARCHAR(5) NOT NULL,
    redirectroot TEXT NOT NULL,
    redirect404 TEXT NOT NULL,
    ignorecase BOOLEAN NOT NULL,
    brandname TEXT NOT NULL,
    brandcolor TEXT NOT NULL,
    brandlogo TEXT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT domains_pk PRIMARY KEY (id, account),
    CONSTRAINT domains_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT domains_host_unique UNIQUE (host)
);

CREATE INDEX domains_account_id ON domains (account, id);

CREATE TABLE campaigns (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    slug VARCHAR(50),
    public BOOLEAN NOT NULL,
    indexable BOOLEAN NOT NULL,
    views BIGINT NOT NULL,
    rotation VARCHAR(8) NOT NULL,
    sticky BOOLEAN NOT NULL,
    winner BIGINT,
    created BIGINT NOT NULL,
    CONSTRAINT campaigns_pk PRIMARY KEY (id, account),
    CONSTRAINT campaigns_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT campaigns_account_name_unique UNIQUE (account, name)
);

CREATE INDEX campaigns_account_id ON campaigns (account, id);

CREATE TABLE splashes (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    message TEXT NOT NULL,
    counter BIGINT NOT NULL,
    skip BIGINT NOT NULL,
    link TEXT NOT NULL,
    banner TEXT NOT NULL,
    logo TEXT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT splashes_pk PRIMARY KEY (id, account),
    CONSTRAINT splashes_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX splashes_account_id ON splashes (account, id);

CREATE TABLE overlays (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    type VARCHAR(16) NOT NULL,
    message TEXT NOT NULL,
    label TEXT NOT NULL,
    link TEXT NOT NULL,
    position TEXT NOT NULL,
    color TEXT NOT NULL,
    background TEXT NOT NULL,
    delay BIGINT NOT NULL,
    button TEXT NOT NULL,
    thanks TEXT NOT NULL,
    options JSON NOT NULL,
    code TEXT NOT NULL,
    image TEXT NOT NULL,
    webhook TEXT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT overlays_pk PRIMARY KEY (id, account),
    CONSTRAINT overlays_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX overlays_account_id ON overlays (account, id);

CREATE TABLE pixels (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    type VARCHAR(32) NOT NULL,
    name TEXT NOT NULL,
    tag VARCHAR(64) NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT pixels_pk PRIMARY KEY (id, account),
    CONSTRAINT pixels_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX pixels_account_id ON pixels (account, id);

CREATE TABLE utm_templates (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    utm_source TEXT NOT NULL,
    utm_medium TEXT NOT NULL,
    utm_campaign TEXT NOT NULL,
    utm_term TEXT NOT NULL,
    utm_content TEXT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT utm_templates_pk PRIMARY KEY (id, account),
    CONSTRAINT utm_templates_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT utm_templates_account_name_unique UNIQUE (account, name)
);

CREATE INDEX utm_templates_account_id ON utm_templates (account, id);

CREATE TABLE channels (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    color TEXT NOT NULL,
    starred BOOLEAN NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT channels_pk PRIMARY KEY (id, account),
    CONSTRAINT channels_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT channels_account_name_unique UNIQUE (account, name)
);

CREATE INDEX channels_account_id ON channels (account, id);

CREATE TABLE bios (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    alias VARCHAR(190) NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    theme TEXT NOT NULL,
    avatar TEXT NOT NULL,
    design JSON,
    blocks JSON NOT NULL,
    sensitive BOOLEAN NOT NULL,
    clicks BIGINT NOT NULL,
    uniqueclicks BIGINT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT bios_pk PRIMARY KEY (id, account),
    CONSTRAINT bios_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX bios_account_id ON bios (account, id);

CREATE TABLE qrs (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    name TEXT NOT NULL,
    alias VARCHAR(190) NOT NULL,
    type VARCHAR(16) NOT NULL,
    data JSON NOT NULL,
    foreground TEXT NOT NULL,
    background TEXT NOT NULL,
    gradient JSON,
    modules TEXT NOT NULL,
    eyes TEXT NOT NULL,
    level TEXT NOT NULL,
    margin BIGINT NOT NULL,
    caption TEXT NOT NULL,
    logo BYTEA,
    dynamic BOOLEAN NOT NULL,
    version BIGINT NOT NULL,
    scans BIGINT NOT NULL,
    uniquescans BIGINT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT qrs_pk PRIMARY KEY (id, account),
    CONSTRAINT qrs_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX qrs_account_id ON qrs (account, id);

CREATE TABLE files (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    host TEXT NOT NULL,
    alias VARCHAR(190) NOT NULL,
    name TEXT NOT NULL,
    filename TEXT NOT NULL,
    search TEXT NOT NULL,
    object TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 BYTEA NOT NULL,
    mime TEXT NOT NULL,
    password TEXT,
    expiry BIGINT,
    maxdownloads BIGINT,
    taken BIGINT NOT NULL,
    downloads BIGINT NOT NULL,
    uniquedownloads BIGINT NOT NULL,
    ended BIGINT,
    purged BIGINT,
    created BIGINT NOT NULL,
    CONSTRAINT files_pk PRIMARY KEY (id, account),
    CONSTRAINT files_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT files_object_unique UNIQUE (object, account)
);

CREATE INDEX files_account_id ON files (account, id);

CREATE INDEX files_ended ON files (ended);

CREATE INDEX files_expiry ON files (expiry);

CREATE TABLE links (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    host TEXT NOT NULL,
    alias VARCHAR(190) NOT NULL,
    url TEXT NOT NULL,
    urlhash BIGINT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    search TEXT NOT NULL,
    password TEXT,
    expiry BIGINT,
    clicklimit BIGINT,
    taken BIGINT NOT NULL,
    expiryurl TEXT NOT NULL,
    type VARCHAR(8) NOT NULL,
    splash BIGINT,
    overlay BIGINT,
    status VARCHAR(8) NOT NULL,
    metatitle TEXT NOT NULL,
    metadescription TEXT NOT NULL,
    metaimage TEXT NOT NULL,
    geotarget JSON NOT NULL,
    devicetarget JSON NOT NULL,
    languagetarget JSON NOT NULL,
    deeplink JSON NOT NULL,
    parameters JSON NOT NULL,
    campaign BIGINT,
    clicks BIGINT NOT NULL,
    uniqueclicks BIGINT NOT NULL,
    importedclicks BIGINT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT links_pk PRIMARY KEY (id, account),
    CONSTRAINT links_campaign_fk FOREIGN KEY(campaign, account) REFERENCES campaigns (id, account),
    CONSTRAINT links_overlay_fk FOREIGN KEY(overlay, account) REFERENCES overlays (id, account),
    CONSTRAINT links_splash_fk FOREIGN KEY(splash, account) REFERENCES splashes (id, account),
    CONSTRAINT links_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX links_account_id ON links (account, id);

CREATE INDEX links_account_clicks ON links (account, clicks, id);

CREATE INDEX links_account_imported ON links (account, campaign, id, importedclicks) WHERE importedclicks > 0;

CREATE INDEX links_account_status ON links (account, status, id);

CREATE INDEX links_account_urlhash ON links (account, urlhash, id);

CREATE INDEX links_campaign ON links (campaign, id);

CREATE INDEX links_overlay ON links (overlay);

CREATE INDEX links_splash ON links (splash);

CREATE TABLE link_pixels (
    link BIGINT NOT NULL,
    pixel BIGINT NOT NULL,
    account BIGINT NOT NULL,
    CONSTRAINT link_pixels_pk PRIMARY KEY (link, pixel, account),
    CONSTRAINT link_pixels_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account) ON DELETE CASCADE,
    CONSTRAINT link_pixels_pixel_fk FOREIGN KEY(pixel, account) REFERENCES pixels (id, account) ON DELETE CASCADE
);

CREATE INDEX link_pixels_pixel ON link_pixels (pixel);

CREATE TABLE link_checks (
    account BIGINT NOT NULL,
    link BIGINT NOT NULL,
    due BIGINT NOT NULL,
    checked BIGINT,
    status BIGINT NOT NULL,
    failing_since BIGINT,
    failures BIGINT NOT NULL,
    dead BOOLEAN NOT NULL,
    CONSTRAINT link_checks_pk PRIMARY KEY (account, link),
    CONSTRAINT link_checks_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT link_checks_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account) ON DELETE CASCADE
);

CREATE INDEX link_checks_dead_account ON link_checks (dead, account, link);

CREATE INDEX link_checks_due ON link_checks (due);

CREATE INDEX link_checks_link ON link_checks (link);

CREATE TABLE link_undos (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    batch VARCHAR(32) NOT NULL,
    created BIGINT NOT NULL,
    content JSON NOT NULL,
    CONSTRAINT link_undos_pk PRIMARY KEY (id, account),
    CONSTRAINT link_undos_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX link_undos_account_batch ON link_undos (account, batch);

CREATE INDEX link_undos_created ON link_undos (created);

CREATE TABLE submissions (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    overlay BIGINT NOT NULL,
    link BIGINT,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    message TEXT NOT NULL,
    choice TEXT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT submissions_pk PRIMARY KEY (id, account),
    CONSTRAINT submissions_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account),
    CONSTRAINT submissions_overlay_fk FOREIGN KEY(overlay, account) REFERENCES overlays (id, account) ON DELETE CASCADE
);

CREATE INDEX submissions_link ON submissions (link);

CREATE INDEX submissions_overlay_id ON submissions (overlay, id);

CREATE TABLE bio_blocks (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    bio BIGINT NOT NULL,
    clicks BIGINT NOT NULL,
    uniqueclicks BIGINT NOT NULL,
    CONSTRAINT bio_blocks_pk PRIMARY KEY (id, account),
    CONSTRAINT bio_blocks_bio_fk FOREIGN KEY(bio, account) REFERENCES bios (id, account) ON DELETE CASCADE
);

CREATE INDEX bio_blocks_bio ON bio_blocks (bio, id);

CREATE TABLE bio_pictures (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    bio BIGINT NOT NULL,
    data BYTEA NOT NULL,
    CONSTRAINT bio_pictures_pk PRIMARY KEY (id, account),
    CONSTRAINT bio_pictures_bio_fk FOREIGN KEY(bio, account) REFERENCES bios (id, account) ON DELETE CASCADE
);

CREATE INDEX bio_pictures_bio ON bio_pictures (bio, id);

CREATE TABLE channel_items (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    channel BIGINT NOT NULL,
    link BIGINT,
    bio BIGINT,
    qr BIGINT,
    assigned BIGINT NOT NULL,
    CONSTRAINT channel_items_pk PRIMARY KEY (id, account),
    CONSTRAINT channel_items_one_item_check CHECK ((link IS NOT NULL AND bio IS NULL AND qr IS NULL) OR (link IS NULL AND bio IS NOT NULL AND qr IS NULL) OR (link IS NULL AND bio IS NULL AND qr IS NOT NULL)),
    CONSTRAINT channel_items_bio_fk FOREIGN KEY(bio, account) REFERENCES bios (id, account) ON DELETE CASCADE,
    CONSTRAINT channel_items_channel_fk FOREIGN KEY(channel, account) REFERENCES channels (id, account) ON DELETE CASCADE,
    CONSTRAINT channel_items_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account) ON DELETE CASCADE,
    CONSTRAINT channel_items_qr_fk FOREIGN KEY(qr, account) REFERENCES qrs (id, account) ON DELETE CASCADE,
    CONSTRAINT channel_items_channel_bio_unique UNIQUE (channel, bio, account),
    CONSTRAINT channel_items_channel_link_unique UNIQUE (channel, link, account),
    CONSTRAINT channel_items_channel_qr_unique UNIQUE (channel, qr, account)
);

CREATE INDEX channel_items_bio ON channel_items (bio);

CREATE INDEX channel_items_channel_id ON channel_items (channel, id);

CREATE INDEX channel_items_link ON channel_items (link);

CREATE INDEX channel_items_qr ON channel_items (qr);

CREATE TABLE download_grants (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    file BIGINT NOT NULL,
    visitor BYTEA NOT NULL,
    served BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    CONSTRAINT download_grants_pk PRIMARY KEY (id, account),
    CONSTRAINT download_grants_file_fk FOREIGN KEY(file, account) REFERENCES files (id, account) ON DELETE CASCADE
);

CREATE INDEX download_grants_expires ON download_grants (expires);

CREATE INDEX download_grants_file_visitor ON download_grants (file, visitor, id);

CREATE TABLE rotator_links (
    campaign BIGINT NOT NULL,
    link BIGINT NOT NULL,
    account BIGINT NOT NULL,
    weight BIGINT NOT NULL,
    quota BIGINT,
    given BIGINT NOT NULL,
    CONSTRAINT rotator_links_pk PRIMARY KEY (campaign, link, account),
    CONSTRAINT rotator_links_campaign_fk FOREIGN KEY(campaign, account) REFERENCES campaigns (id, account) ON DELETE CASCADE,
    CONSTRAINT rotator_links_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account) ON DELETE CASCADE
);

CREATE INDEX rotator_links_link ON rotator_links (link);

CREATE TABLE rotator_state (
    campaign BIGINT NOT NULL,
    account BIGINT NOT NULL,
    last_link BIGINT,
    clicks BIGINT NOT NULL,
    winner BIGINT,
    CONSTRAINT rotator_state_pk PRIMARY KEY (campaign, account),
    CONSTRAINT rotator_state_campaign_fk FOREIGN KEY(campaign, account) REFERENCES campaigns (id, account) ON DELETE CASCADE
);

CREATE TABLE shares (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    link BIGINT,
    qr BIGINT,
    bio BIGINT,
    campaign BIGINT,
    title TEXT NOT NULL,
    slug VARCHAR(50) NOT NULL,
    token TEXT NOT NULL,
    password TEXT,
    firstday TEXT NOT NULL,
    lastday TEXT NOT NULL,
    days BIGINT,
    timezone TEXT NOT NULL,
    expiry BIGINT,
    created BIGINT NOT NULL,
    CONSTRAINT shares_pk PRIMARY KEY (id, account),
    CONSTRAINT shares_one_item_check CHECK ((CASE WHEN link IS NULL THEN 0 ELSE 1 END + CASE WHEN qr IS NULL THEN 0 ELSE 1 END + CASE WHEN bio IS NULL THEN 0 ELSE 1 END + CASE WHEN campaign IS NULL THEN 0 ELSE 1 END) = 1),
    CONSTRAINT shares_bio_fk FOREIGN KEY(bio, account) REFERENCES bios (id, account) ON DELETE CASCADE,
    CONSTRAINT shares_campaign_fk FOREIGN KEY(campaign, account) REFERENCES campaigns (id, account) ON DELETE CASCADE,
    CONSTRAINT shares_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account) ON DELETE CASCADE,
    CONSTRAINT shares_qr_fk FOREIGN KEY(qr, account) REFERENCES qrs (id, account) ON DELETE CASCADE,
    CONSTRAINT shares_token_unique UNIQUE (token, account)
);

CREATE INDEX shares_account_id ON shares (account, id);

CREATE INDEX shares_bio ON shares (bio);

CREATE INDEX shares_campaign ON shares (campaign);

CREATE INDEX shares_link ON shares (link);

CREATE INDEX shares_qr ON shares (qr);

CREATE TABLE import_plans (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    source VARCHAR(16) NOT NULL,
    conflicts VARCHAR(8) NOT NULL,
    state VARCHAR(8) NOT NULL,
    ignored JSON NOT NULL,
    added JSON NOT NULL,
    error TEXT NOT NULL,
    busy_until BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    stage_position BIGINT NOT NULL,
    rank_position BIGINT NOT NULL,
    row_position BIGINT NOT NULL,
    clicks_position BIGINT NOT NULL,
    parts_position BIGINT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT import_plans_pk PRIMARY KEY (id, account),
    CONSTRAINT import_plans_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX import_plans_account_id ON import_plans (account, id);

CREATE TABLE import_rows (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    stage BIGINT NOT NULL,
    line BIGINT NOT NULL,
    fate VARCHAR(10) NOT NULL,
    reason TEXT NOT NULL,
    losses TEXT NOT NULL,
    source_id TEXT NOT NULL,
    host TEXT NOT NULL,
    alias TEXT NOT NULL,
    url TEXT NOT NULL,
    created BIGINT NOT NULL,
    rank BIGINT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    item BIGINT,
    fields JSON NOT NULL,
    CONSTRAINT import_rows_pk PRIMARY KEY (id, account),
    CONSTRAINT import_rows_plan_fk FOREIGN KEY(plan, account) REFERENCES import_plans (id, account) ON DELETE CASCADE
);

CREATE INDEX import_rows_plan_alias ON import_rows (plan, host, alias);

CREATE INDEX import_rows_plan_rank ON import_rows (plan, stage, rank, id);

CREATE INDEX import_rows_plan_source_id ON import_rows (plan, source_id);

CREATE INDEX import_rows_plan_line ON import_rows (plan, line);

CREATE TABLE import_clicks (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    line BIGINT NOT NULL,
    clicks JSON NOT NULL,
    CONSTRAINT import_clicks_pk PRIMARY KEY (id, account),
    CONSTRAINT import_clicks_plan_fk FOREIGN KEY(plan, account) REFERENCES import_plans (id, account) ON DELETE CASCADE
);

CREATE INDEX import_clicks_plan ON import_clicks (plan, id);

CREATE TABLE import_parts (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    plan BIGINT NOT NULL,
    sheet VARCHAR(16) NOT NULL,
    content JSON NOT NULL,
    CONSTRAINT import_parts_pk PRIMARY KEY (id, account),
    CONSTRAINT import_parts_plan_fk FOREIGN KEY(plan, account) REFERENCES import_plans (id, account) ON DELETE CASCADE
);

CREATE INDEX import_parts_plan ON import_parts (plan, id);

CREATE TABLE import_origins (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    source VARCHAR(16) NOT NULL,
    source_id TEXT NOT NULL,
    link BIGINT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    CONSTRAINT import_origins_pk PRIMARY KEY (id, account),
    CONSTRAINT import_origins_link_fk FOREIGN KEY(link, account) REFERENCES links (id, account) ON DELETE CASCADE,
    CONSTRAINT import_origins_account_source_source_id_unique UNIQUE (account, source, source_id)
);

CREATE INDEX import_origins_link ON import_origins (link);

CREATE TABLE click_labels (
    kind VARCHAR(8) NOT NULL,
    item BIGINT NOT NULL,
    day INTEGER NOT NULL,
    dimension VARCHAR(10) NOT NULL,
    label TEXT NOT NULL,
    account BIGINT NOT NULL,
    n BIGINT NOT NULL,
    CONSTRAINT click_labels_pk PRIMARY KEY (kind, item, day, dimension, label, account)
)
 PARTITION BY RANGE (day);

CREATE TABLE click_times (
    kind VARCHAR(8) NOT NULL,
    item BIGINT NOT NULL,
    at BIGINT NOT NULL,
    account BIGINT NOT NULL,
    clicks BIGINT NOT NULL,
    uniques BIGINT NOT NULL,
    bots BIGINT NOT NULL,
    previews BIGINT NOT NULL,
    others BIGINT NOT NULL,
    late BIGINT NOT NULL,
    CONSTRAINT click_times_pk PRIMARY KEY (kind, item, at, account)
)
 PARTITION BY RANGE (at);

CREATE TABLE edits (
    account BIGINT NOT NULL,
    kind VARCHAR(8) NOT NULL,
    item BIGINT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT edits_pk PRIMARY KEY (kind, item, at, account),
    CONSTRAINT edits_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX edits_account_at ON edits (account, at);

CREATE TABLE events (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    kind VARCHAR(8) NOT NULL,
    item BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    sort VARCHAR(8) NOT NULL,
    first BOOLEAN NOT NULL,
    country TEXT NOT NULL,
    referrer TEXT NOT NULL,
    browser TEXT NOT NULL,
    os TEXT NOT NULL,
    device TEXT NOT NULL,
    language TEXT NOT NULL,
    source TEXT NOT NULL
)
 PARTITION BY RANGE (at_ms);

CREATE INDEX events_account_id ON events (account, id);

CREATE TABLE segments (
    name VARCHAR(80) NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT segments_pk PRIMARY KEY (name)
);

CREATE TABLE visit_blocks (
    account BIGINT NOT NULL,
    last_id BIGINT NOT NULL,
    first_id BIGINT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    visits BIGINT NOT NULL,
    layout TEXT NOT NULL,
    content BYTEA NOT NULL,
    CONSTRAINT visit_blocks_pk PRIMARY KEY (account, last_id)
);

-- Not compressed: a filter reads all blocks of a period, and decompressing takes longer than counting.
ALTER TABLE visit_blocks ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE visitor_salts (
    day SERIAL NOT NULL,
    salt BYTEA NOT NULL,
    CONSTRAINT visitor_salts_pk PRIMARY KEY (day)
);

CREATE TABLE visitors (
    day INTEGER NOT NULL,
    account BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    CONSTRAINT visitors_pk PRIMARY KEY (day, account, digest)
)
 PARTITION BY RANGE (day);

CREATE TABLE attempt_limits (
    digest BYTEA NOT NULL,
    window_end BIGINT NOT NULL,
    remaining BIGINT NOT NULL,
    CONSTRAINT attempt_limits_pk PRIMARY KEY (digest)
);

CREATE INDEX attempt_limits_window_end ON attempt_limits (window_end);

CREATE TABLE blocklist_entries (
    kind VARCHAR(8) NOT NULL,
    value TEXT NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT blocklist_entries_pk PRIMARY KEY (kind, value)
);

CREATE TABLE changes (
    id BIGSERIAL NOT NULL,
    host TEXT NOT NULL,
    alias TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT changes_pk PRIMARY KEY (id)
);

CREATE TABLE leases (
    name VARCHAR(32) NOT NULL,
    until BIGINT NOT NULL,
    CONSTRAINT leases_pk PRIMARY KEY (name)
);

CREATE TABLE orphan_objects (
    object TEXT NOT NULL,
    due BIGINT NOT NULL,
    deleting BOOLEAN NOT NULL,
    CONSTRAINT orphan_objects_pk PRIMARY KEY (object)
);

CREATE INDEX orphan_objects_due ON orphan_objects (due);

CREATE TABLE reports (
    id BIGSERIAL NOT NULL,
    host TEXT NOT NULL,
    alias VARCHAR(190) NOT NULL,
    reason VARCHAR(16) NOT NULL,
    comment TEXT NOT NULL,
    reporter BYTEA NOT NULL,
    created BIGINT NOT NULL,
    closed BIGINT,
    CONSTRAINT reports_pk PRIMARY KEY (id)
);

CREATE INDEX reports_name ON reports (host, alias);

CREATE INDEX reports_reporter ON reports (reporter, created);

-- The search index over links, which triggers update. It yields the links that contain a literal of at least three
-- characters without reading every link (decision 81). It is a table of its own, because counting clicks replaces rows
-- of `links` and would add them to the index each time.
CREATE TABLE links_search (
        account bigint NOT NULL, link bigint NOT NULL, search text NOT NULL,
        CONSTRAINT links_search_pk PRIMARY KEY (account, link)
    );

-- Each trigram as a number of 63 bits, and the negative account. Its cost keeps PostgreSQL from calling it for every row.
CREATE OR REPLACE FUNCTION links_search_keys(search text, account bigint) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS $$
    DECLARE
        keys bigint[] := '{}';
        trigram bigint := 0;
        letter text;
    BEGIN
        FOREACH letter IN ARRAY string_to_array(search, NULL) LOOP
            trigram := (trigram << 21 | ascii(letter)) & 9223372036854775807;
            keys := keys || trigram;
        END LOOP;
        RETURN keys[3:] || -account;
    END $$;

CREATE INDEX links_search_index ON links_search USING gin (links_search_keys(search, account));

CREATE OR REPLACE FUNCTION links_search_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF tg_op <> 'INSERT' THEN
            DELETE FROM links_search WHERE account = old.account AND link = old.id;
        END IF;
        IF tg_op <> 'DELETE' THEN
            INSERT INTO links_search (account, link, search) VALUES (new.account, new.id, new.search);
        END IF;
        RETURN NULL;
    END $$;

CREATE TRIGGER links_search_added_or_removed AFTER INSERT OR DELETE ON links
        FOR EACH ROW EXECUTE FUNCTION links_search_update();

CREATE TRIGGER links_search_changed AFTER UPDATE OF search ON links
        FOR EACH ROW WHEN (old.search <> new.search) EXECUTE FUNCTION links_search_update();

CREATE TABLE trash (
    id BIGSERIAL NOT NULL,
    account BIGINT NOT NULL,
    batch VARCHAR(32) NOT NULL,
    kind VARCHAR(8) NOT NULL,
    item BIGINT NOT NULL,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    alias VARCHAR(190),
    content JSON NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT trash_pk PRIMARY KEY (id, account),
    CONSTRAINT trash_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);

CREATE INDEX trash_account_id ON trash (account, id);

CREATE INDEX trash_account_batch ON trash (account, batch);

CREATE INDEX trash_account_item ON trash (account, kind, item);

CREATE INDEX trash_created ON trash (created);

CREATE TABLE click_labels_rest PARTITION OF click_labels DEFAULT;

CREATE TABLE click_times_rest PARTITION OF click_times DEFAULT;

CREATE TABLE events_rest PARTITION OF events DEFAULT;

CREATE TABLE visitors_rest PARTITION OF visitors DEFAULT;

-- Totals over all days have the day -1.
CREATE TABLE click_labels_all PARTITION OF click_labels FOR VALUES FROM (-1) TO (0);

INSERT INTO plans (name, status, rate_limit, upload_limit) VALUES ('free', 'free', 30, 536870912);
