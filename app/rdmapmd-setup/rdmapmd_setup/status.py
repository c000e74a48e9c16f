# SPDX-License-Identifier: BSD-3-Clause
"""How functions and hugepages stand now."""

import grp
import pwd
import stat

from . import hugepages, pci, processes, vfio


def owner_said(host, path):
    """root:root 0600, or None without a node."""
    status = host.stat(path)
    if status is None:
        return None
    try:
        user = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        user = str(status.st_uid)
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    return f"{user}:{group} {stat.S_IMODE(status.st_mode):04o}"


def of_function(host, state, function):
    node = vfio.node(function.group) if function.group is not None else None
    return {
        "address": function.address,
        "id": function.id,
        "name": function.name,
        "driver": function.driver,
        "group": function.group,
        "siblings": [other.address for other in function.siblings],
        "node": node if node and host.exists(node) else None,
        "owner": owner_said(host, node) if node else None,
        "numa_node": function.numa_node,
        "netdevs": [{"name": netdev.name, "up": netdev.up} for netdev in function.netdevs],
        "holders": [{"pid": pid, "name": processes.name_of(host, pid)} for pid in vfio.group_holders(host, function)],
        "before": state.functions.get(function.address, {}).get("driver"),
    }


def of_pool(pool):
    return {"page": pool.page, "total": pool.total, "free": pool.free, "mounts": pool.mounts}


def collect(host, state, functions):
    return {
        "iommu": vfio.Iommu(host).on,
        "functions": [of_function(host, state, function) for function in functions],
        "hugepages": [of_pool(pool) for pool in hugepages.pools(host)],
    }


def function_line(row):
    words = [row["address"], row["id"], row["name"], row["driver"] or "no driver"]
    words.append(f"group {row['group']}" if row["group"] is not None else "no group")
    if row["owner"]:
        words.append(f"{row['node']} {row['owner']}")
    if row["netdevs"]:
        words.append(", ".join(f"{netdev['name']} {'up' if netdev['up'] else 'down'}" for netdev in row["netdevs"]))
    if row["holders"]:
        words.append("in use by " + ", ".join(f"{holder['pid']} ({holder['name']})" for holder in row["holders"]))
    if row["before"]:
        words.append(f"was on {row['before']}")
    return "  ".join(words)


def show(out, data):
    out.data.update(data)
    out.line(f"IOMMU {'on' if data['iommu'] else 'off'}")
    for row in data["functions"]:
        out.line(function_line(row))
    if not data["functions"]:
        out.line("no function of the mlx5 class")
    for row in data["hugepages"]:
        where = f", mounted on {', '.join(row['mounts'])}" if row["mounts"] else ", not mounted"
        out.line(f"hugepages of {hugepages.said(row['page'])}: {row['total']}, {row['free']} free{where if row['total'] else ''}")
