# SPDX-License-Identifier: BSD-3-Clause
"""A function to vfio-pci, and back to the driver that it had."""

from . import pci, plan, processes, vfio
from .host import Failed


def losses(function):
    """What goes with the kernel's driver, in words."""
    lost = []
    for netdev in function.netdevs:
        if netdev.default_route:
            lost.append(f"the default route goes through {netdev.name}")
        elif netdev.up:
            lost.append(f"{netdev.name} is up and loses its link")
    if function.disks:
        lost.append(f"the disks on it are gone: {' '.join(function.disks)}")
    if function.has_netdevs_elsewhere:
        lost.append("its interface is in another network namespace, such as a container's")
    if function.vfs:
        lost.append(f"its {function.vfs} VFs go with it")
    return lost


def refuse_to_bind(host, function, chosen, force):
    """Everything that speaks against it, before anything is touched."""
    address = function.address
    if not vfio.Iommu(host).on or function.group is None:
        raise Failed(f"{address}: it has no IOMMU, and vfio-pci does not accept it without one",
                     f"rdmapmd-setup doctor {address}")
    if vfio.is_noiommu(host, function.group):
        raise Failed(f"{address}: its group has no IOMMU", f"rdmapmd-setup doctor {address}")
    others = [other for other in function.in_the_way if other.address not in chosen]
    if others and not force:
        names = " ".join(other.address for other in others)
        raise Failed(f"{address}: group {function.group} cannot be used while " +
                     ", ".join(f"{other.address} ({other.id}) is on {other.driver}" for other in others),
                     f"rdmapmd-setup bind {address} {names} --apply")
    if function.driver != "vfio-pci" and losses(function) and not force:
        downs = [f"ip link set {netdev.name} down" for netdev in function.netdevs if netdev.up and not netdev.default_route]
        raise Failed(f"{address}: {', '.join(losses(function))}; --force binds it nevertheless", downs)


def check_driver(function, wanted):
    if function.driver != wanted:
        raise Failed(f"{function.address}: is on {function.driver or 'no driver'} and should be on {wanted or 'none'}",
                     "dmesg | tail")


class GoBack:
    """To a driver that a function was on; a driver takes nothing that an override keeps for another."""

    def __init__(self, function):
        self.function, self.driver, self.override = function, function.driver, function.override or ""

    def __str__(self):
        return f"echo {self.function.address} > {pci.DRIVERS}/{self.driver}/bind"

    def make(self, host):
        host.write(f"{self.function.path}/driver_override", self.override)
        if self.function.driver not in (None, self.driver):
            host.write(f"{self.function.path}/driver/unbind", self.function.address)
        if self.function.driver != self.driver:
            host.write(f"{pci.DRIVERS}/{self.driver}/bind", self.function.address)


def move(made, host, function):
    """The steps that take a function from its driver to vfio-pci."""
    old = function.driver
    made.add(plan.Write(f"{function.path}/driver_override", "vfio-pci"),
             undo=plan.Write(f"{function.path}/driver_override", function.override or ""))
    if old is not None:
        made.add(plan.Write(f"{pci.DRIVERS}/{old}/unbind", function.address), undo=GoBack(function))
    made.add(plan.Write("/sys/bus/pci/drivers_probe", function.address),
             undo=LeaveDriver(function), check=lambda: check_driver(function, "vfio-pci"))
    if host.exists("/run/udev/control"):
        # What it does to the group's node comes before what we do.
        made.add(plan.Command(["udevadm", "settle", "--timeout=10"]))


class LeaveDriver:
    """Away from vfio-pci, if it got there."""

    def __init__(self, function):
        self.function = function

    def __str__(self):
        return f"echo {self.function.address} > {self.function.path}/driver/unbind"

    def make(self, host):
        if self.function.driver is not None:
            host.write(f"{self.function.path}/driver/unbind", self.function.address)


def bind(host, state, functions, owner=None, force=False):
    """The plan for functions, all or none."""
    chosen = {function.address for function in functions}
    for function in functions:
        refuse_to_bind(host, function, chosen, force)
        if not function.of_the_class and not any(other.of_the_class and other.address in chosen
                                                 for other in function.siblings) and not force:
            raise Failed(f"{function.address}: {function.id} is neither a function of the mlx5 class nor in the group of a "
                         "named one; --force binds it nevertheless")
    made = plan.Plan(host)
    if not vfio.pci_driver_loaded(host):
        made.add(plan.Command(["modprobe", "vfio-pci"]))
    for function in functions:
        if function.driver == "vfio-pci":
            made.notes.append(f"{function.address} is on vfio-pci already")
            continue
        driver, override = function.driver, function.override
        made.then(lambda f=function, d=driver, o=override: state.remember_function(f.address, d, o))
        move(made, host, function)
    if owner is not None:
        for group in sorted({function.group for function in functions}):
            status = host.stat(vfio.node(group))
            if status is None or (status.st_uid, status.st_gid) != owner:
                # Without one now there is none again when the binding is taken back.
                made.add(plan.Chown(vfio.node(group), *owner),
                         undo=status and plan.Chown(vfio.node(group), status.st_uid, status.st_gid))
    return made


def unbind(host, state, functions, driver=None):
    """The plan that gives functions to the driver that they had before bind, or to the one that is named."""
    made = plan.Plan(host)
    for function in functions:
        address, now = function.address, function.driver
        known = state.functions.get(address)
        if now not in (None, "vfio-pci"):
            made.notes.append(f"{address} is on {now}, not on vfio-pci")
            if known:
                made.then(lambda a=address: state.forget_function(a))
            continue
        held = vfio.group_holders(host, function)
        if held:
            raise Failed(f"{address}: in use by {', '.join(processes.said(host, pid) for pid in held)}",
                         [f"kill {' '.join(map(str, held))}"])
        wanted = driver or (known["driver"] or "none" if known else "mlx5_core")
        made.add(plan.Write(f"{function.path}/driver_override", (known or {}).get("override") or ""),
                 undo=plan.Write(f"{function.path}/driver_override", function.override or ""))
        if now is not None:
            made.add(plan.Write(f"{pci.DRIVERS}/{now}/unbind", address), undo=GoBack(function))
        if wanted != "none":
            give(made, host, function, wanted)
        if known:
            made.then(lambda a=address: state.forget_function(a))
    return made


def give(made, host, function, wanted):
    if not host.exists(f"{pci.DRIVERS}/{wanted}"):
        # It takes what it finds without a driver, this function among them.
        made.add(plan.Command(["modprobe", wanted]))
    made.add(GiveDriver(function, wanted), check=lambda: check_driver(function, wanted))


class GiveDriver:
    """To one driver, of those that would have it."""

    def __init__(self, function, driver):
        self.function, self.driver = function, driver

    def __str__(self):
        return f"echo {self.function.address} > {pci.DRIVERS}/{self.driver}/bind"

    def make(self, host):
        # A module that was loaded for it may have been quicker.
        if self.function.driver != self.driver:
            host.write(f"{pci.DRIVERS}/{self.driver}/bind", self.function.address)
