#!/bin/bash
# Functions of all scripts. YunoHost sets the variables, such as app, install_dir, data_dir and domain.
# shellcheck disable=SC2154

# Install the version of the manifest into a new environment: from a wheel in conf/, or from PyPI.
install_environment() {
    local version package
    version="$(ynh_app_upstream_version)"
    package="$YNH_APP_BASEDIR/conf/waypost-$version-py3-none-any.whl"
    [ -f "$package" ] || package="waypost==$version"
    ynh_safe_rm "$install_dir/venv"
    python3 -m venv "$install_dir/venv"
    ynh_hide_warnings "$install_dir/venv/bin/pip" install --no-cache-dir "$package"
    # The service reads its environment, and cannot change it.
    chown -R "root:$app" "$install_dir/venv"
    chmod -R u=rwX,g=rX,o= "$install_dir/venv"
}

# Run a command of waypost as the user of the service, with its settings.
run_waypost() {
    (cd "$install_dir" && ynh_exec_as_app "$install_dir/venv/bin/waypost" "$@")
}

# Write the settings, and the configuration of nginx and systemd.
write_configuration() {
    write_settings
    ynh_config_add_nginx
    ynh_config_add_systemd
    register_service
}

write_settings() {
    former_hosts="${former_hosts:-}"
    ynh_config_add --template="waypost.toml" --destination="$install_dir/waypost.toml"
}

register_service() {
    yunohost service add "$app" --description="Short links, files and QR codes"
}
