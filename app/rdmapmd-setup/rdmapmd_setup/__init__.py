# SPDX-License-Identifier: BSD-3-Clause
"""What rdmapmd-setup is made of. A file per object; cli is the door."""
